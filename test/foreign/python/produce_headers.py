"""Produces records with unusual headers with librdkafka, one in every codec: produce_headers.py BROKERS TOPIC HEADERS.

The file HEADERS has a JSON list of names and values, null included.
"""

import json
import sys

from confluent_kafka import Producer

brokers, topic, headers_path = sys.argv[1:]
with open(headers_path, encoding="utf-8") as file:
    headers = [(name, None if value is None else value.encode()) for name, value in json.load(file)]

for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
    producer = Producer({"bootstrap.servers": brokers, "compression.type": codec, "partitioner": "murmur2_random"})
    producer.produce(topic, key=f"acme/librdkafka-{codec}", value="no JSON", headers=headers)
    producer.flush()
