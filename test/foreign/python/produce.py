"""Produces with librdkafka, in every codec and mode: produce.py BROKERS TOPIC TEMPLATE COUNT.

A record's value is the text of the file TEMPLATE with {{id}} replaced. With transactions, as many more records are aborted.
"""

import sys

from confluent_kafka import Producer

brokers, topic, template_path, count = sys.argv[1:]
with open(template_path, encoding="utf-8") as file:
    template = file.read()


def produce(producer, prefix):
    for number in range(int(count)):
        entity = f"{prefix}-{number}"
        producer.produce(topic, key=f"acme/{entity}", value=template.replace("{{id}}", entity))


for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    for mode in ("plain", "idempotent", "transactional"):
        name = f"librdkafka-{codec}-{mode}"
        settings = {
            "bootstrap.servers": brokers,
            "compression.type": codec,
            "linger.ms": 50,
            "enable.idempotence": mode != "plain",
            "partitioner": "murmur2_random",
        }
        if mode != "transactional":
            producer = Producer(settings)
            produce(producer, name)
            producer.flush()
            continue
        producer = Producer({**settings, "transactional.id": f"{topic}-{name}"})
        producer.init_transactions()
        producer.begin_transaction()
        produce(producer, name)
        producer.commit_transaction()
        producer.begin_transaction()
        produce(producer, f"aborted-{name}")
        producer.flush()
        producer.abort_transaction()
