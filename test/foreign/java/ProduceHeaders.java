import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Produces records with unusual headers with the Java client, one in every codec: ProduceHeaders BROKERS TOPIC HEADERS.
 *
 * <p>The file HEADERS has a JSON list of names and values, null included.
 */
public class ProduceHeaders {
  public static void main(String[] args) throws Exception {
    JsonNode headers = new ObjectMapper().readTree(new File(args[2]));
    for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      Properties settings = new Properties();
      settings.put("bootstrap.servers", args[0]);
      settings.put("compression.type", codec);
      try (Producer<String, String> producer =
          new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
        ProducerRecord<String, String> record = new ProducerRecord<>(args[1], "acme/java-" + codec, "no JSON");
        for (JsonNode header : headers) {
          byte[] value = header.get(1).isNull() ? null : header.get(1).asText().getBytes(StandardCharsets.UTF_8);
          record.headers().add(header.get(0).asText(), value);
        }
        producer.send(record).get();
      }
    }
  }
}
