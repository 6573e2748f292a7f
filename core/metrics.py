"""Prometheus metrics. Each process has its own; docs/operations.md explains them."""

from prometheus_client import Counter, Gauge, Histogram

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

SOCKETS = Gauge("parley_sockets", "Open sockets")
COMMANDS = Counter("parley_commands", "Received socket commands, by type", ["type"])
REFUSALS = Counter("parley_refusals", "Refusals on sockets, by code", ["code"])
SEND_SECONDS = Histogram(
    "parley_send_seconds",
    "Time from receiving a message to acknowledging it",
    buckets=LATENCY_BUCKETS,
)
SEND_QUEUE_SECONDS = Histogram(
    "parley_send_queue_seconds",
    "Time a message waits for its transaction to start",
    buckets=LATENCY_BUCKETS,
)
DELIVERY_SECONDS = Histogram(
    "parley_delivery_seconds",
    "Time from storing a message to writing it to a socket of this process",
    buckets=LATENCY_BUCKETS,
)
SEND_BATCH_SIZE = Histogram("parley_send_batch_size", "Messages per batch", buckets=range(1, 17))
SEND_CONFLICTS = Counter(
    "parley_send_conflicts", "Sends that failed at the first attempt, by reason", ["reason"]
)
SYNC_GAPS = Counter("parley_sync_gaps", "Gaps that clients reported in an open thread")
UNDELIVERED_THREADS = Counter(
    "parley_undelivered_threads", "Threads reported to connecting clients as not delivered yet"
)
DYNAMODB_REQUESTS = Counter(
    "parley_dynamodb_requests", "Requests to DynamoDB, by operation", ["operation"]
)
DYNAMODB_CAPACITY_UNITS = Counter(
    "parley_dynamodb_capacity_units", "Consumed capacity units, by operation", ["operation"]
)
DYNAMODB_CONNECTIONS = Counter("parley_dynamodb_connections", "Connections opened to DynamoDB")
DYNAMODB_RETRIES = Counter(
    "parley_dynamodb_retries", "Retried requests to DynamoDB, by reason", ["reason"]
)
BREAKER_OPEN = Gauge("parley_dynamodb_breaker_open", "Whether the circuit breaker is open")
BREAKER_REJECTIONS = Counter(
    "parley_dynamodb_breaker_rejections", "Requests rejected by the open circuit breaker"
)
UNKNOWN_KINDS = Counter(
    "parley_unknown_kinds", "Stored items and values of kinds that this version lacks", ["kind"]
)
DROPPED_EVENTS = Counter("parley_dropped_events", "Dropped events, by destination", ["where"])
SEARCH_LAG = Gauge("parley_search_lag_seconds", "Age of the oldest change that is not indexed")
OUTBOX_ENTRIES = Counter(
    "parley_outbox_entries", "Runs of outbox handlers, by kind and outcome", ["kind", "outcome"]
)
OUTBOX_PENDING = Gauge("parley_outbox_pending", "Pending outbox entries")
OUTBOX_DEAD_LETTERS = Gauge("parley_outbox_dead_letters", "Dead letters of the outbox")
OUTBOX_LAG = Gauge("parley_outbox_lag_seconds", "Age of the longest overdue outbox entry")
