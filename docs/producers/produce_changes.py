"""Example of a producer in Python, with confluent-kafka: produce_changes.py BROKERS TRANSACTIONAL_ID.

Each line of stdin is a JSON array of changes, {"topic", "key", "value"}, with value null for a deletion. A line is one transaction: all of
its changes are appended, or none. One process at a time may use a transactional id.
"""

import json
import sys

from confluent_kafka import Producer

DEADLINE_SECONDS = 60

brokers, transactional_id = sys.argv[1:]
producer = Producer(
    {
        "bootstrap.servers": brokers,
        "transactional.id": transactional_id,
        # librdkafka's default hashes keys in another way than the Java client, KafkaJS and Debezium do. All producers must send an
        # entity to the same partition.
        "partitioner": "murmur2_random",
        "compression.type": "zstd",
        # Some forms are larger than the default of 1 MB.
        "message.max.bytes": 16_777_216,
    }
)


def append(change):
    value = change["value"]
    producer.produce(
        change["topic"],
        key=change["key"],
        # No value at all deletes the entity; the JSON text null would be refused.
        value=None if value is None else json.dumps(value, ensure_ascii=False),
    )


producer.init_transactions(DEADLINE_SECONDS)
for line in sys.stdin:
    producer.begin_transaction()
    try:
        for change in json.loads(line):
            append(change)
        producer.commit_transaction(DEADLINE_SECONDS)
    except BaseException:
        producer.abort_transaction(DEADLINE_SECONDS)
        raise
