import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces with the Java client, in every codec and mode: Produce BROKERS TOPIC TEMPLATE COUNT.
 *
 * <p>A record's value is the text of the file TEMPLATE with {{id}} replaced. With transactions, as many more records are aborted.
 */
public class Produce {
  public static void main(String[] args) throws Exception {
    String topic = args[1];
    String template = Files.readString(Path.of(args[2]));
    int count = Integer.parseInt(args[3]);
    for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      for (String mode : List.of("plain", "idempotent", "transactional")) {
        String name = "java-" + codec + "-" + mode;
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "50");
        settings.put("enable.idempotence", String.valueOf(!mode.equals("plain")));
        if (mode.equals("transactional")) settings.put("transactional.id", topic + "-" + name);
        try (Producer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
          if (!mode.equals("transactional")) {
            produce(producer, topic, template, name, count);
            continue;
          }
          producer.initTransactions();
          producer.beginTransaction();
          produce(producer, topic, template, name, count);
          producer.commitTransaction();
          producer.beginTransaction();
          produce(producer, topic, template, "aborted-" + name, count);
          producer.flush();
          producer.abortTransaction();
        }
      }
    }
  }

  private static void produce(
      Producer<String, String> producer, String topic, String template, String prefix, int count) {
    for (int number = 0; number < count; number++) {
      String id = prefix + "-" + number;
      producer.send(new ProducerRecord<>(topic, "acme/" + id, template.replace("{{id}}", id)));
    }
    producer.flush();
  }
}
