"""Where is it shown that Esker keeps what the specification demands?

Each row has the section, the demand in short, and the tests that a breach of it would fail.  (Iceberg specification: "must" and
"must not"; `v3` is for what format version 3 adds)
"""

from importlib import import_module

import pytest

DEMANDS = [
    ("Optimistic Concurrency", "a writer whose base is no longer current tries again on what is current", "test_crashes.test_an_append_that_lost_the_race_is_made_again_on_what_the_rival_left"),
    ("Sequence Numbers", "manifests are written once and used again by retries; only the list is written anew", "test_crashes.test_an_append_that_lost_the_race_is_made_again_on_what_the_rival_left"),
    ("Primitive Types", "precisions are 38 or less; strings are UTF-8", "test_create.test_what_cannot_be_a_table_is_refused_before_a_file_is_written", "test_bounds.test_bytes_that_are_no_value_are_refused"),
    ("Default values", "rows from before a column have its initial default, members of structs their own", "test_reading.test_rows_from_before_a_column_have_its_initial_default_also_in_structs", "test_create.test_defaults_are_given_to_rows_that_are_there_and_to_those_that_do_not_bring_them"),
    ("Default values", "the initial default never changes; a required column is added with both", "test_create.test_changes_that_break_a_rule_are_refused_and_change_nothing"),
    ("Schema Evolution", "ids are never used again; what is no promotion is refused", "test_create.test_columns_change_and_keep_their_values", "test_create.test_changes_that_break_a_rule_are_refused_and_change_nothing"),
    ("Column Projection", "columns are selected by ids alone", "test_reading.test_columns_are_found_by_id_whatever_they_are_called_now", "test_reading.test_a_list_of_structs_is_read_by_the_ids_within"),
    ("Column Projection", "identity partition values, then names that are mapped, then defaults, then null", "test_reading.test_a_partition_value_stands_for_a_column_that_the_file_lacks", "test_reading.test_files_without_ids_are_read_by_the_tables_mapping_of_names"),
    ("Partitioning", "all rows of a file have its partition values", "test_spark_writing.test_spark_and_arrow_compute_the_same_partition_values", "test_transforms.test_values_become_partition_values"),
    ("Partition Transforms", "null becomes null; remainders are positive; buckets go by the hash without its sign", "test_transforms.test_values_become_partition_values", "test_transforms.test_buckets_of_numbers_are_those_of_pyiceberg"),
    ("Partition Transforms", "sources are primitives outside of lists and maps", "test_transforms.test_a_type_that_a_transform_does_not_take_is_refused"),
    ("Partition Evolution", "fields keep their ids; version 1 leaves a dropped one as void", "test_upkeep.test_the_partition_spec_evolves_and_old_files_stay_readable", "test_upkeep.test_a_field_that_version_1_dropped_leaves_its_id_to_nobody", "test_reading.test_a_field_that_version_1_dropped_says_nothing_of_files_written_since"),
    ("Partition Specs", "specs of version 1 may have given an id to two fields", "test_reading.test_specs_of_version_1_may_give_one_id_to_fields_of_different_columns"),
    ("Manifests", "bounds enclose all values that are neither null nor NaN", "test_create.test_bounds_of_every_type_hold_the_values"),
    ("Manifests", "-0.0 comes before +0.0", "test_manifests.test_both_zeros_lie_within_what_a_list_says_of_a_partition"),
    ("Manifest Entry Fields", "numbers are inherited by added entries alone; others have their own", "test_manifests.test_entries_come_back_and_inherit_what_they_leave_to_the_manifest", "test_manifests.test_an_entry_that_is_not_new_must_have_its_sequence_number"),
    ("Sequence Number Inheritance", "numbers of version 1 are 0", "test_manifests.test_entries_come_back_and_inherit_what_they_leave_to_the_manifest"),
    ("Manifest Lists", "specs that manifests are of are in the table's metadata", "test_reading.test_a_manifest_of_a_spec_that_the_table_does_not_have_is_refused"),
    ("Manifest Lists", "counts and summaries are those of the files", "test_manifests.test_the_list_counts_files_and_rows_and_sums_up_the_partitions"),
    ("Scan Planning", "every file that may match is read: inclusive projection", "test_projection.test_no_value_lies_outside_what_its_partition_value_says", "test_projection.test_no_file_or_manifest_with_a_matching_row_is_skipped"),
    ("Scan Planning", "position deletes: the same partition, not older than the file", "test_deletes.test_position_deletes_concern_files_of_their_own_commit_and_older_ones_but_no_younger", "test_deletes.test_deletes_that_do_not_fit_are_an_error_and_never_ignored"),
    ("Scan Planning", "equality deletes: younger than the file, of its partition or global", "test_deletes.test_equality_deletes_concern_strictly_older_files_only", "test_deletes.test_equality_deletes_concern_their_own_partition_and_without_one_all"),
    ("Table Metadata", "a version above what is known is refused", "test_reading.test_a_format_version_that_is_not_known_is_refused_by_name", "test_metadata.test_a_version_that_is_not_known_is_refused_by_name"),
    ("Table Metadata", "another UUID after a refresh is refused", "test_reading.test_a_table_that_another_has_taken_the_place_of_is_not_taken_for_it"),
    ("Table Metadata", "the current snapshot is that of main", "test_metadata.test_what_contradicts_itself_is_refused", "test_metadata.test_there_is_always_a_main_branch"),
    ("Table Metadata", "a file is not deleted before the last snapshot that names it", "test_safety.test_no_history_loses_a_file_or_a_row_of_a_retained_snapshot", "test_upkeep.test_expired_snapshots_take_only_files_that_nobody_else_has"),
    ("Commit Conflict Resolution and Retry", "replacing and deleting files makes sure that they are there still", "test_crashes.test_rivals_that_change_the_same_rows_conflict_and_lose_nothing"),
    ("Commit Conflict Resolution and Retry", "schema and spec updates make sure that the schema is the same", "test_upkeep.test_columns_that_a_rival_added_meanwhile_keep_rows_from_bringing_others"),
    ("Snapshot Retention Policy", "branches by number and age, tags and references by their own, main always", "test_upkeep.test_the_retention_policy_says_what_expires", "test_upkeep.test_a_reference_that_is_too_old_goes_and_main_stays"),
    ("File System Tables", "a version is committed by whoever makes it first", "test_crashes.test_every_row_of_many_writers_is_there_exactly_once", "test_places.test_the_newest_metadata_file_is_told_by"),
    ("Position Delete Files", "rows are sorted by path and position; paths are those of the manifests", "test_row_changes.test_position_delete_files_are_sorted_and_say_which_file_they_are_of", "test_corpus.test_deletes_that_name_a_file_on_another_host_are_refused_unless_told_apart"),
    ("Equality Delete Files", "null equals null; a column that was dropped or added since still counts", "test_deletes.test_null_equals_null_in_an_equality_delete", "test_deletes.test_a_column_that_was_dropped_still_counts_in_equality_deletes", "test_deletes.test_a_column_that_was_added_is_null_or_its_default_in_older_files_for_equality_deletes"),
    ("Equality Delete Files", "by each type but floats, by several sets of columns, by members of structs, whoever reads", "test_equality_deletes.test_rows_that_equal_a_deleted_one_are_left_out", "test_equality_deletes.test_spark_leaves_out_the_same_rows", "test_equality_deletes.test_keys_that_cannot_be_compared_are_refused"),
    ("Appendix A: Avro", "unions with null, maps as arrays, ids at every level", "test_manifests.test_any_avro_file_is_read_as_fastavro_reads_it", "test_corpus.test_rows_are_what_independent_readers_see"),
    ("Appendix A: Parquet", "lists of three levels, decimals by their precision, ids at every level", "test_create.test_rows_of_every_type_come_back_to_both", "test_spark_writing.test_nested_columns_of_a_frame_are_found_by_their_ids"),
    ("Appendix B", "hashes of an int and a long are the same; the vectors", "test_transforms.test_the_hash_vectors_of_the_specification"),
    ("Appendix C", "types, specs, orders and references as JSON", "test_metadata.test_types_are_spelled_as_the_specification_does", "test_metadata.test_what_is_written_is_read_back"),
    ("Appendix D", "values as bytes and as JSON; timestamps with a zone have +00:00, others none", "test_bounds.test_a_value_is_stored_as_the_appendix_says_and_read_back", "test_bounds.test_json_that_is_no_value_of_the_type_is_refused", "test_bounds.test_a_bound_from_before_a_promotion_is_told_by_its_length"),
    ("Appendix E", "what version 1 leaves out is 0 or data; what version 2 requires is there", "test_metadata.test_version_1_is_completed_from_its_deprecated_fields", "test_metadata.test_what_version_2_requires_must_be_there"),
    ("v3: Unknown transforms", "the table is read without their help, and not written", "test_reading.test_an_unknown_transform_keeps_no_row_from_being_read", "test_features.test_an_unknown_transform_keeps_writers_out_and_no_reader"),
    ("v3: Deletion Vectors", "one for a file, of its offset and length and cardinality; a mismatch is an error", "test_deletes.test_deletes_that_do_not_fit_are_an_error_and_never_ignored", "test_puffin.test_the_test_vectors_of_deletion_vectors"),
    ("v3: Deletion Vectors", "a vector takes over what was dead, goes with its file, and position delete files are not added", "test_row_changes.test_a_second_vector_takes_the_place_of_the_first", "test_row_changes.test_a_vector_goes_with_its_file", "test_row_changes.test_position_deletes_from_before_an_upgrade_are_merged_into_vectors", "test_upkeep.test_position_deletes_of_a_table_that_was_upgraded_meanwhile_are_a_conflict"),
    ("v3: Row Lineage", "ids are given once, inherited in order, kept by copies; the first snapshot gives ids to all", "test_manifests.test_row_ids_start_where_the_manifest_says_and_go_on_by_the_rows_of_files_without_one", "test_row_changes.test_row_ids_stay_with_rows_and_tell_who_changed_them_last", "test_row_changes.test_all_rows_have_ids_after_the_first_snapshot_of_version_3"),
    ("v3: Encryption", "what is encrypted is refused by name", "test_features.test_an_encrypted_table_is_refused_by_name"),
    ("v3: Time travel", "a moment goes by the log of snapshots", "test_reading.test_snapshots_are_reached_by_id_time_branch_and_tag"),
    ("Puffin", "magic, lengths, checksums and flags", "test_puffin.test_a_vector_of_another_length_or_checksum_is_refused", "test_puffin.test_flags_that_are_not_known_are_refused", "test_puffin.test_a_file_that_is_cut_off_anywhere_is_refused"),
]  # fmt: skip


@pytest.mark.parametrize("row", DEMANDS, ids=[f"{section}: {demand}" for section, demand, *_ in DEMANDS])
def test_a_demand_of_the_specification_has_tests(row: tuple[str, ...]) -> None:
    _, _, *tests = row
    assert tests
    for test in tests:
        module, _, name = test.partition(".")
        assert callable(getattr(import_module(f"tests.iceberg.{module}"), name))
