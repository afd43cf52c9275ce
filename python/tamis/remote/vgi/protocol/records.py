"""The records of VGI 2.2 that reading needs, with the fields in the order of the protocol.

Versions 2.0 and 2.1 have the same records, except that FUNCTION_INFO has plain bytes for three
dictionaries and lacks `input_rows_per_call`, and that version 2.0 lacks the last field of
CATALOG_ATTACHED.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tamis.remote.vgi.protocol.record import ENUMERATION, TEXTS, Record, needed, optional

__all__ = [
    "BIND_REQUEST",
    "BOUND",
    "BRANCH",
    "BRANCHES",
    "CAPABILITIES",
    "CARDINALITY",
    "CATALOG_ATTACHED",
    "CATALOG_ATTACH_REQUEST",
    "CATALOG_INFO",
    "CATALOG_VERSION",
    "DESCRIPTION",
    "FUNCTION_CALL",
    "FUNCTION_INFO",
    "INIT_REQUEST",
    "ITEMS",
    "METHOD_INFO",
    "PARTITION_TRANSFORM",
    "PLANNED",
    "PLAN_REQUEST",
    "PROTOCOLS",
    "PROTOCOL_SUMMARY",
    "SCAN_FUNCTION",
    "SCAN_HEADER",
    "SCHEMA_INFO",
    "SORT_FIELD",
    "SPLIT",
    "STATISTICS",
    "TABLE_INFO",
]

_TEXT: Final = pa.string()
_BYTES: Final = pa.binary()
_LARGE: Final = pa.large_binary()
_INT: Final = pa.int64()
_BOOL: Final = pa.bool_()
_BODIES: Final = pa.list_(_BYTES)
_LARGE_BODIES: Final = pa.list_(_LARGE)
_NUMBERS: Final = pa.list_(pa.int32())
_TAGS: Final = pa.map_(_TEXT, _TEXT)
_SHARED_BYTES: Final = pa.dictionary(pa.int32(), _BYTES)


def _list(*fields: pa.Field) -> pa.DataType:
    return pa.list_(pa.struct(fields))


# --- reflection ---------------------------------------------------------------------------------

_SUMMARY: Final = (
    needed("protocol", _TEXT),
    needed("protocol_version", _TEXT),
    needed("protocol_hash", _TEXT),
    needed("deprecated", _BOOL),
    needed("deprecation_message", _TEXT),
    needed("features", TEXTS),
)
PROTOCOL_SUMMARY: Final = pa.struct(_SUMMARY)
METHOD_INFO: Final = pa.struct(
    [
        needed("name", _TEXT),
        needed("method_type", _TEXT),
        needed("has_return", _BOOL),
        needed("has_header", _BOOL),
        needed("stream_kind", _TEXT),
        needed("params_schema_ipc", _BYTES),
        needed("result_schema_ipc", _BYTES),
        needed("header_schema_ipc", _BYTES),
        needed("idempotency", _TEXT),
        needed("deprecated", _BOOL),
        needed("deprecation_message", _TEXT),
    ]
)
PROTOCOLS: Final = Record(
    "the list of protocols",
    pa.schema(
        [
            needed("server_id", _TEXT),
            needed("server_version", _TEXT),
            needed("request_version", _TEXT),
            needed("protocols", pa.list_(PROTOCOL_SUMMARY)),
        ]
    ),
)
DESCRIPTION: Final = Record(
    "the description of a protocol",
    pa.schema([*_SUMMARY, needed("methods", pa.list_(METHOD_INFO))]),
)

# --- the catalog --------------------------------------------------------------------------------

#: What methods that list something return.
ITEMS: Final = Record("a list", pa.schema([needed("items", _BODIES)]))
CATALOG_INFO: Final = Record(
    "a catalog",
    pa.schema(
        [
            needed("name", _TEXT),
            optional("implementation_version", _TEXT),
            optional("data_version_spec", _TEXT),
            needed("attach_option_specs", _BODIES),
            needed(
                "releases",
                _list(
                    needed("version", _TEXT),
                    optional("released_at", pa.timestamp("us", "UTC")),
                    needed("summary", _TEXT),
                    optional("notes_url", _TEXT),
                ),
            ),
            optional("source_url", _TEXT),
        ]
    ),
)
CAPABILITIES: Final = Record(
    "the capabilities of a client",
    pa.schema(
        [
            needed("engine", _TEXT),
            needed("native_formats", TEXTS),
            needed("catalogs", TEXTS),
            needed("can_stream", _BOOL),
            needed("filter_encodings", TEXTS),
        ]
    ),
)
CATALOG_ATTACH_REQUEST: Final = Record(
    "the request of a catalog",
    pa.schema(
        [
            needed("name", _TEXT),
            optional("options", _BYTES),
            optional("data_version_spec", _TEXT),
            optional("implementation_version", _TEXT),
            optional("client_capabilities", _BYTES),
        ]
    ),
)
CATALOG_ATTACHED: Final = Record(
    "the attached catalog",
    pa.schema(
        [
            needed("attach_opaque_data", _BYTES),
            needed("supports_transactions", _BOOL),
            needed("supports_time_travel", _BOOL),
            needed("catalog_version_frozen", _BOOL),
            needed("catalog_version", _INT),
            needed("attach_opaque_data_required", _BOOL),
            needed("default_schema", _TEXT),
            needed("settings", _BODIES),
            needed("secret_types", _BODIES),
            needed("attach_catalogs", _BODIES),
            optional("comment", _TEXT),
            needed("tags", _TAGS),
            needed("supports_column_statistics", _BOOL),
            needed("global_functions", _BODIES),
            needed("global_function_prefix", _TEXT),
            optional("resolved_data_version", _TEXT),
            optional("resolved_implementation_version", _TEXT),
            needed("supports_catalog_contents", _BOOL),
        ]
    ),
)
CATALOG_VERSION: Final = Record("the version of a catalog", pa.schema([needed("version", _INT)]))
SCHEMA_INFO: Final = Record(
    "a schema of a catalog",
    pa.schema(
        [
            optional("comment", _TEXT),
            needed("tags", _TAGS),
            needed("path", TEXTS),
            optional("estimated_object_count", pa.map_(_TEXT, _INT)),
        ]
    ),
)
TABLE_INFO: Final = Record(
    "a table of a catalog",
    pa.schema(
        [
            optional("comment", _TEXT),
            needed("tags", _TAGS),
            needed("name", _TEXT),
            needed("schema_path", TEXTS),
            needed("columns", _BYTES),
            needed("not_null_constraints", _NUMBERS),
            needed("unique_constraints", pa.list_(_NUMBERS)),
            needed("check_constraints", TEXTS),
            needed("primary_key_constraints", pa.list_(_NUMBERS)),
            needed("foreign_key_constraints", _BODIES),
            needed("write_result_modes", _TAGS),
            needed("supports_column_statistics", _BOOL),
            optional("scan_function", _BYTES),
            optional("insert_function", _BYTES),
            optional("update_function", _BYTES),
            optional("delete_function", _BYTES),
            optional("cardinality_estimate", _INT),
            optional("cardinality_max", _INT),
            optional("column_statistics", _BYTES),
            optional("bind_result", _BYTES),
            needed("required_filters", pa.list_(TEXTS)),
        ]
    ),
)
_IDENTITIES: Final = _list(
    needed("namespace", _TEXT), needed("name", _TEXT), needed("version", pa.uint64())
)
FUNCTION_INFO: Final = Record(
    "a function of a catalog",
    pa.schema(
        [
            optional("comment", _TEXT),
            needed("tags", _TAGS),
            needed("name", _TEXT),
            needed("schema_path", TEXTS),
            needed("function_type", ENUMERATION),
            needed("arguments", _SHARED_BYTES),
            needed("output_schema", _SHARED_BYTES),
            optional("parameter_default_values", _SHARED_BYTES),
            optional("stability", ENUMERATION),
            optional("null_handling", ENUMERATION),
            optional("argument_monotonicity", TEXTS),
            needed("description", _TEXT),
            needed(
                "examples",
                _list(
                    needed("sql", _TEXT),
                    needed("description", _TEXT),
                    optional("expected_output", _TEXT),
                ),
            ),
            needed("categories", TEXTS),
            optional("projection_pushdown", _BOOL),
            optional("filter_pushdown", _BOOL),
            optional("sampling_pushdown", _BOOL),
            optional("late_materialization", _BOOL),
            needed("filter_semantic_profiles", TEXTS),
            needed("additional_filter_functions", _IDENTITIES),
            needed("runtime_filter_algorithms", _IDENTITIES),
            needed(
                "filter_evaluation_contexts",
                _list(needed("profile", _TEXT), optional("provider_fingerprint", _TEXT)),
            ),
            optional("order_preservation", ENUMERATION),
            optional("max_workers", pa.int32()),
            needed("supports_batch_index", _BOOL),
            needed("supports_splits", _BOOL),
            needed("filters_exactly_applied", _BOOL),
            needed("supports_positions", _BOOL),
            optional("split_token_ttl_seconds", _INT),
            needed("partition_kind", ENUMERATION),
            needed("order_dependent", ENUMERATION),
            needed("distinct_dependent", ENUMERATION),
            needed("supports_window", _BOOL),
            needed("streaming_partitioned", _BOOL),
            needed("has_finalize", _BOOL),
            needed("source_order_dependent", _BOOL),
            needed("sink_order_dependent", _BOOL),
            needed("requires_input_batch_index", _BOOL),
            needed("input_from_args", _BOOL),
            optional("input_rows_per_call", _INT),
            needed("required_settings", TEXTS),
            needed(
                "required_secrets",
                _list(
                    needed("secret_type", _TEXT),
                    optional("scope", _TEXT),
                    optional("secret_name", _TEXT),
                ),
            ),
        ]
    ),
)
#: The function that scans a table. Its `arguments` are one row of `arg_0`, `arg_1`, … and of named
#: ones, unlike those of BIND_REQUEST.
SCAN_FUNCTION: Final = Record(
    "the scan function of a table",
    pa.schema(
        [
            needed("function_name", _TEXT),
            needed("arguments", _BYTES),
            needed("required_extensions", TEXTS),
            optional("schema_path", TEXTS),
        ]
    ),
)
BRANCHES: Final = Record(
    "the branches of a table",
    pa.schema([needed("branches", _BODIES), needed("required_extensions", TEXTS)]),
)
BRANCH: Final = Record(
    "a branch of a table",
    pa.schema(
        [
            needed("function_name", _TEXT),
            needed("arguments", _BYTES),
            optional("branch_filter", _TEXT),
            needed("writable", _BOOL),
            optional("source_catalog", _TEXT),
            optional("source_schema_path", TEXTS),
            optional("source_table", _TEXT),
            optional("format_name", _TEXT),
            optional("format_locations", TEXTS),
            optional("format_options", _BYTES),
            optional("schema_path", TEXTS),
        ]
    ),
)
#: One row per column, whose bounds are the values of unions.
STATISTICS: Final = pa.schema(
    [
        needed("column_name", _TEXT),
        optional("has_null", _BOOL),
        optional("has_not_null", _BOOL),
        optional("distinct_count", _INT),
        optional("contains_unicode", _BOOL),
        optional("max_string_length", pa.uint64()),
    ]
)

# --- calls of a function ------------------------------------------------------------------------

BIND_REQUEST: Final = Record(
    "the call of a function",
    pa.schema(
        [
            needed("function_name", _TEXT),
            needed("arguments", _BYTES),
            needed("function_type", ENUMERATION),
            optional("input_schema", _BYTES),
            optional("settings", _BYTES),
            optional("secrets", _BYTES),
            optional("attach_opaque_data", _BYTES),
            optional("transaction_opaque_data", _BYTES),
            needed("resolved_secrets_provided", _BOOL),
            optional("at_unit", _TEXT),
            optional("at_value", _TEXT),
            optional(
                "copy_from",
                pa.struct(
                    [
                        needed("format", _TEXT),
                        needed("file_path", _TEXT),
                        needed("expected_schema", _BYTES),
                    ]
                ),
            ),
            optional("copy_to", pa.struct([needed("format", _TEXT), needed("file_path", _TEXT)])),
            optional("schema_path", TEXTS),
            optional("argument_names", TEXTS),
        ]
    ),
)
BOUND: Final = Record(
    "the bound function",
    pa.schema(
        [
            needed("output_schema", _BYTES),
            optional("opaque_data", _BYTES),
            needed("lookup_secret_types", TEXTS),
            needed("lookup_scopes", TEXTS),
            needed("lookup_names", TEXTS),
        ]
    ),
)
#: The requests of the cardinality and of the statistics of a call.
FUNCTION_CALL: Final = Record(
    "the bound call",
    pa.schema([needed("bind_call", _BYTES), optional("bind_opaque_data", _BYTES)]),
)
CARDINALITY: Final = Record(
    "the cardinality", pa.schema([optional("estimate", _INT), optional("max", _INT)])
)

_ORDER: Final = (
    optional("order_by_column_name", _TEXT),
    optional("order_by_direction", ENUMERATION),
    optional("order_by_null_order", ENUMERATION),
    optional("order_by_limit", _INT),
    optional("tablesample_percentage", pa.float64()),
    optional("tablesample_seed", _INT),
)
PLAN_REQUEST: Final = Record(
    "the request of splits",
    pa.schema(
        [
            needed("bind_call", _BYTES),
            optional("bind_opaque_data", _BYTES),
            optional("projection_ids", pa.list_(_INT)),
            optional("pushdown_filters", _LARGE),
            optional("join_keys", _LARGE_BODIES),
            optional("row_limit", _INT),
            optional("target_split_bytes", _INT),
            optional("min_splits", _INT),
            optional("max_splits_per_response", _INT),
            optional("cursor", _BYTES),
            optional("refined_filters", _LARGE),
            needed("filters_complete", _BOOL),
            optional("start_position", _BYTES),
            optional("end_position", _BYTES),
            *_ORDER,
        ]
    ),
)
PLANNED: Final = Record(
    "the splits",
    pa.schema(
        [
            needed("splits", _BODIES),
            optional("next_cursors", _BODIES),
            optional("execution_id", _BYTES),
            optional("init_opaque_data", _BYTES),
            optional("max_workers", _INT),
            optional("estimated_total_splits", _INT),
            optional("estimated_total_rows", _INT),
            optional("estimated_total_bytes", _INT),
            optional("catalog_version", _INT),
            needed("scope", _TEXT),
            optional("locations", TEXTS),
            optional("partitioning", _BODIES),
            optional("sort_order", _BODIES),
            optional("cache_max_age_seconds", _INT),
            optional("start_position", _BYTES),
            optional("end_position", _BYTES),
        ]
    ),
)
PARTITION_TRANSFORM: Final = Record(
    "a partition transform",
    pa.schema([needed("column", _TEXT), needed("transform", _TEXT), optional("param", _INT)]),
)
SORT_FIELD: Final = Record(
    "a sort key",
    pa.schema(
        [
            needed("column", _TEXT),
            needed("direction", ENUMERATION),
            needed("nulls", ENUMERATION),
        ]
    ),
)
SPLIT: Final = Record(
    "a split",
    pa.schema(
        [
            needed("payload", _BYTES),
            needed("token", _BYTES),
            optional("estimated_rows", _INT),
            needed("rows_exact", _BOOL),
            optional("estimated_bytes", _INT),
            optional("partition_bounds", _BYTES),
            optional("column_statistics", _BYTES),
            optional("location_ids", pa.list_(_INT)),
            optional("start_position", _BYTES),
            optional("end_position", _BYTES),
        ]
    ),
)
INIT_REQUEST: Final = Record(
    "the request of a scan",
    pa.schema(
        [
            needed("bind_call", _BYTES),
            needed("output_schema", _BYTES),
            optional("bind_opaque_data", _BYTES),
            optional("projection_ids", pa.list_(_INT)),
            optional("pushdown_filters", _LARGE),
            optional("join_keys", _LARGE_BODIES),
            optional("split_tokens", _LARGE_BODIES),
            optional("row_limit", _INT),
            optional("phase", ENUMERATION),
            optional("finalize_state_id", _BYTES),
            optional("execution_id", _BYTES),
            optional("init_opaque_data", _BYTES),
            optional("substream_id", _BYTES),
            *_ORDER,
        ]
    ),
)
SCAN_HEADER: Final = Record(
    "the header of a scan",
    pa.schema(
        [
            needed("execution_id", _BYTES),
            optional("opaque_data", _BYTES),
            needed("max_workers", _INT),
        ]
    ),
)
