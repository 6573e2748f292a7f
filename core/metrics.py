"""What is counted, for Prometheus: the figures that tell when the service is ill.

Each process counts for itself. docs/operations.md says what each figure means, and where they are.
"""

from prometheus_client import Counter, Gauge, Histogram

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

SOCKETS = Gauge("parley_sockets", "Sockets that are open")
COMMANDS = Counter("parley_commands", "Commands that came, by type", ["type"])
REFUSALS = Counter("parley_refusals", "Refusals on sockets, by code", ["code"])
SEND_SECONDS = Histogram(
    "parley_send_seconds", "From a message's frame to the answer that it is stored", buckets=FAST
)
SEND_QUEUE_SECONDS = Histogram(
    "parley_send_wait_seconds", "Until a message's transaction was begun", buckets=FAST
)
DELIVERY_SECONDS = Histogram(
    "parley_delivery_seconds", "From stored to handed to a socket here", buckets=FAST
)
SEND_BATCH_SIZE = Histogram(
    "parley_group_size", "Messages that were given to the store together", buckets=range(1, 17)
)
SEND_CONFLICTS = Counter(
    "parley_races", "Sends that did not go through at once, by reason", ["reason"]
)
SYNC_GAPS = Counter("parley_repairs", "Gaps that a client reported in a thread that it had open")
UNDELIVERED_THREADS = Counter(
    "parley_pending", "Conversations named to a client as not delivered yet"
)
DYNAMODB_REQUESTS = Counter(
    "parley_dynamodb_requests", "Requests to DynamoDB, by operation", ["operation"]
)
DYNAMODB_CAPACITY_UNITS = Counter(
    "parley_dynamodb_units", "Capacity units they took, by operation", ["operation"]
)
DYNAMODB_CONNECTIONS = Counter(
    "parley_dynamodb_connections", "Connections to DynamoDB that were opened"
)
DYNAMODB_RETRIES = Counter(
    "parley_dynamodb_retries", "Repeated attempts, by what went wrong", ["reason"]
)
BREAKER_OPEN = Gauge("parley_dynamodb_breaker_open", "Whether the circuit breaker is open")
BREAKER_REJECTIONS = Counter(
    "parley_dynamodb_rejected", "Requests that an open circuit breaker refused"
)
UNKNOWN_KINDS = Counter(
    "parley_unknown_kinds", "Stored items and values that this version does not know", ["kind"]
)
DROPPED_EVENTS = Counter("parley_layer_drops", "Events that were dropped, by where", ["where"])
SEARCH_LAG = Gauge("parley_search_lag_seconds", "How long the oldest change waits for search")
OUTBOX_ENTRIES = Counter(
    "parley_outbox_entries", "Outbox entries that a handler was run for", ["kind", "outcome"]
)
OUTBOX_PENDING = Gauge("parley_outbox_pending", "Outbox entries that are not done")
OUTBOX_DEAD_LETTERS = Gauge("parley_outbox_dead_letters", "Outbox entries that were given up")
OUTBOX_LAG = Gauge("parley_outbox_lag_seconds", "How long the oldest due outbox entry waits")
