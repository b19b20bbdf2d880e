"""Defects that readers found, by number, with the tests that fail without their mends: see ``pytest --mend 4``."""

from __future__ import annotations

from typing import NamedTuple


class Mend(NamedTuple):
    """A defect, and the tests that would find it again, as ``file::function`` below ``tests``."""

    defect: str
    tests: tuple[str, ...]


MENDS = {
    1: Mend(
        "a blank behind a class turned FAIL into PASS",
        (
            "test_models/test_reading.py::test_a_blank_does_not_turn_fail_into_pass",
            "test_models/test_reading.py::test_classes_that_differ_only_by_blanks_or_unicode_are_refused_unless_it_is_said_what_they_are",
            "test_models/test_reading.py::test_releases_with_two_spellings_of_a_name_are_refused",
            "test_models/test_reading.py::test_spellings_that_differ_by_case_are_noted",
            "test_maxent/test_reading_cli.py::test_blanks_are_refused_and_stripped_when_asked",
        ),
    ),
    2: Mend(
        "missing values were classes in a file and refused in pandas",
        (
            "test_models/test_reading.py::test_what_is_written_for_a_missing_value_is_missing_in_every_source",
            "test_models/test_reading.py::test_one_missing_value_among_numbers_leaves_a_column_of_numbers",
            "test_models/test_reading.py::test_other_spellings_of_a_missing_value",
            "test_models/test_reading.py::test_file_pandas_parquet_and_merged_files_agree",
            "test_maxent/test_reading_cli.py::test_missing_values_are_what_na_names",
        ),
    ),
    3: Mend(
        "rounding errors decided where a probability is exactly at a limit",
        (
            "test_maxent/test_disclosure.py::test_vulnerability_and_certainty_weigh_individuals",
            "test_maxent/test_disclosure.py::test_exact_numbers_take_the_place_of_computed_ones",
            "test_maxent/test_limits.py::test_a_computed_probability_is_compared_with_its_error",
            "test_maxent/test_limits.py::test_a_number_does_not_look_like_a_limit_that_it_is_not",
        ),
    ),
    4: Mend(
        "trees of scikit-learn were violated by the records that they were grown from",
        (
            "test_constraints/test_scikit_learn_is_sound.py::test_weights_and_rows_of_weight_0",
            "test_constraints/test_scikit_learn_is_sound.py::test_trees_of_ensembles_satisfy_what_is_compiled_of_them",
            "test_constraints/test_scikit_learn_is_sound.py::test_fractional_weights_state_nothing_and_are_refused_as_counts",
            "test_constraints/test_scikit_learn_is_sound.py::test_missing_values_in_features_that_the_tree_does_not_test",
            "test_models/test_reading.py::test_zero_is_one_category_whatever_its_sign_and_the_order_of_rows",
        ),
    ),
    5: Mend(
        "rounded rates were taken for exact ones",
        (
            "test_constraints/test_printed_rates_are_sound.py::test_rates_that_look_exact_prove_nothing",
            "test_constraints/test_printed_rates_are_sound.py::test_an_audit_claims_nothing_of_printed_rates_that_is_not_so",
            "test_constraints/test_printed_rates_are_sound.py::test_both_commands_say_when_digits_prove_that_rates_are_exact",
            "test_models/test_printed_rates.py::test_rates_of_whole_numbers_are_intervals_where_several_whole_numbers_have_them",
        ),
    ),
    6: Mend(
        "bench named a best back end where none was used",
        (
            "test_maxent/test_bench.py::test_where_closed_forms_answer_everything_no_back_end_is_best",
            "test_maxent/test_bench.py::test_where_what_is_stated_leaves_one_answer_presolve_is_not_blamed",
        ),
    ),
    7: Mend(
        "releases of labels alone always passed",
        (
            "test_maxent/test_limits.py::test_a_tree_of_labels_alone_fails_by_the_one_person_whom_it_proves",
            "test_maxent/test_limits.py::test_a_label_that_gives_one_person_away_is_no_pass",
            "test_maxent/test_limits.py::test_what_is_published_has_to_keep_a_limit_too",
        ),
    ),
    8: Mend(
        "values of Parquet that are not ours ended in tracebacks",
        (
            "test_models/test_parquet_values.py::test_values_that_are_read",
            "test_models/test_parquet_values.py::test_values_that_are_refused",
            "test_models/test_parquet_values.py::test_a_column_that_is_empty_in_one_of_several_files",
            "test_models/test_parquet_values.py::test_a_footer_with_any_byte_changed_is_read_or_refused",
            "test_models/test_parquet_values.py::test_any_values_are_read_or_refused_alike",
        ),
    ),
    9: Mend(
        "outputs replaced inputs",
        (
            "test_maxent/test_inputs_are_kept.py::test_an_input_is_never_replaced",
            "test_maxent/test_inputs_are_kept.py::test_outputs_do_not_replace_one_another",
            "test_maxent/test_inputs_are_kept.py::test_several_releases_replace_no_input",
            "test_maxent/test_inputs_are_kept.py::test_a_study_replaces_nothing_that_it_reads",
        ),
    ),
    10: Mend(
        "names from files steered the terminal, and were run by spreadsheets",
        (
            "test_maxent/test_hostile_names.py::test_no_name_steers_the_terminal",
            "test_maxent/test_hostile_names.py::test_what_a_progress_bar_says_is_no_markup",
            "test_maxent/test_hostile_names.py::test_nothing_is_printed_but_where_text_is_made_printable",
            "test_maxent/test_csv_for_spreadsheets.py::test_no_cell_is_a_formula",
            "test_maxent/test_csv_for_spreadsheets.py::test_a_name_that_begins_with_a_bracket_is_no_argument_of_an_item",
        ),
    ),
    11: Mend(
        "small files took all memory, and endless ones were read for ever",
        (
            "test_models/test_sparse_counts.py::test_memory_of_a_release_grows_with_the_document",
            "test_models/test_input_limits.py::test_a_small_parquet_file_of_very_long_texts",
            "test_models/test_input_limits.py::test_a_small_archive_of_very_many_lines",
            "test_models/test_input_limits.py::test_what_is_no_file_is_refused_whatever_reads_it",
            "test_models/test_input_limits.py::test_standard_input_has_a_limit",
        ),
    ),
    12: Mend(
        "confidential records outlived a run that was killed, and outputs were open to others",
        (
            "test_maxent/test_killed.py::test_a_sweep_that_is_asked_to_end_leaves_no_records",
            "test_maxent/test_killed.py::test_a_sweep_that_was_killed_leaves_them_to_the_next_run_of_anything",
            "test_models/test_output.py::test_what_a_killed_process_left_is_removed_by_the_next",
            "test_maxent/test_sweep_resumed.py::test_a_lock_that_is_a_link_is_refused",
            "test_models/test_output.py::test_a_file_that_is_replaced_keeps_its_permissions",
        ),
    ),
    13: Mend(
        "errors showed what is in files that are no tables",
        (
            "test_models/test_input_limits.py::test_a_study_shows_nothing_of_a_file_that_is_no_table",
            "test_models/test_malformed_tables.py::test_a_file_without_any_of_the_columns_is_not_shown",
            "test_maxent/test_foreign_files.py::test_nothing_of_a_foreign_file_is_shown",
            "test_maxent/test_foreign_files.py::test_nor_by_bench",
        ),
    ),
    14: Mend(
        "the time limit was not kept",
        (
            "test_maxent/test_time_limit.py::test_a_back_end_is_left_behind",
            "test_maxent/test_time_limit.py::test_so_is_the_search_for_contradictions",
            "test_maxent/test_time_limit.py::test_so_is_their_reconciliation",
            "test_maxent/test_time_limit.py::test_before_an_answer_the_first_look_that_finds_time_up_ends_it",
            "test_maxent/test_time_limit.py::test_what_does_not_look_then_is_left_behind",
            "test_maxent/test_time_limit.py::test_time_is_kept_back_for_measuring",
            "test_solvers/test_clock.py::test_a_signal_asks_to_stop_and_is_heard_while_work_goes_on",
            "test_solvers/test_clock.py::test_many_constraints_are_projected_onto_without_decomposing_their_matrix",
        ),
    ),
    15: Mend(
        "empty files, closed streams and huge numbers ended in tracebacks; hints and many classes took long",
        (
            "test_models/test_malformed_tables.py::test_bytes_that_are_no_csv",
            "test_maxent/test_standard_streams.py::test_a_closed_standard_output_is_told_before_any_work",
            "test_maxent/test_huge_numbers.py::test_options",
            "test_models/test_hints.py::test_unknown_values_cost_little_however_many_they_are",
            "test_models/test_sparse_counts.py::test_the_rows_of_a_program_take_memory_for_what_is_not_0",
        ),
    ),
    16: Mend(
        "tables as spreadsheets write them were misread, and columns could have one name",
        (
            "test_models/test_csv_dialects.py::test_cells_separated_by_another_mark_are_recognised_and_noted",
            "test_models/test_csv_encodings.py::test_an_encoding_is_recognised_and_told",
            "test_models/test_excel.py::test_cells_are_text_as_in_csv",
            "test_models/test_reading.py::test_what_looks_like_numbers_stays_text_and_is_noted",
            "test_maxent/test_column_names.py::test_ours_are_prefixed_in_every_file",
        ),
    ),
    17: Mend(
        "Python showed results at full length, without a warning or a way out",
        (
            "test_maxent/test_display.py::test_a_large_estimate_is_shown_in_ten_lines_and_twelve_rows",
            "test_maxent/test_display.py::test_a_result_is_a_small_escaped_table_in_a_notebook",
            "test_maxent/test_display.py::test_python_warns_once_of_a_result_that_is_not_to_be_relied_on",
            "test_maxent/test_display.py::test_a_model_in_place_of_a_release_is_told_what_to_do",
            "test_models/test_from_sklearn.py::test_the_way_out_is_named",
        ),
    ),
    18: Mend(
        "errors had several styles, and came late or twice",
        (
            "test_maxent/test_messages.py::test_a_mistake_in_a_call_is_told_in_the_words_of_the_command_line",
            "test_maxent/test_messages.py::test_python_has_its_own_names",
            "test_maxent/test_messages.py::test_with_json_the_error_is_json",
            "test_maxent/test_rehearsal.py::test_what_fails_when_it_runs_is_found_before",
            "test_maxent/test_rehearsal.py::test_failures_that_differ_in_numbers_are_one",
        ),
    ),
    19: Mend(
        "the help was one long list, and options meant several things",
        (
            "test_maxent/test_help.py::test_every_option_is_in_a_panel",
            "test_maxent/test_help.py::test_every_command_has_two_examples_of_its_own",
            "test_maxent/test_help.py::test_the_help_is_as_wide_as_the_terminal",
            "test_maxent/test_help.py::test_an_option_means_the_same_wherever_it_is",
            "test_maxent/test_completion.py::test_it_is_installed_for_bash",
        ),
    ),
    20: Mend(
        "the report did not say that no release may be published, and showed all digits",
        (
            "test_maxent/test_reporting.py::test_the_banner_says_what_may_be_published",
            "test_maxent/test_report_browser.py::test_the_banner_shows_that_no_release_may_be_published",
            "test_maxent/test_numbers_for_people.py::test_texts_and_reports_have_commas_and_three_decimals",
        ),
    ),
    21: Mend(
        "the installation was large, and a missing package ended in a traceback",
        (
            "test_maxent/test_missing_packages.py::test_nothing_that_is_optional_is_needed",
            "test_maxent/test_missing_packages.py::test_the_default_back_end_does_without_any_other",
            "test_maxent/test_missing_packages.py::test_nothing_imports_casadi_or_duckdb",
            "test_solvers/test_derivatives.py::test_the_model_is_evaluated_as_pyomo_does_and_differentiated_as_sympy_does",
        ),
    ),
    22: Mend(
        "most slow tests never ran",
        (
            "test_project/test_checks.py::test_all_slow_tests_run_always",
            "test_project/test_checks.py::test_a_hunt_finds_what_fails_and_says_with_which_seed",
        ),
    ),
    23: Mend(
        "pages told to install what is on no index, and their search needed a server",
        (
            "test_docs/test_search.py::test_a_query_finds_pages_without_network",
            "test_docs/test_search.py::test_no_page_names_a_script_from_elsewhere",
            "test_docs/test_paths.py::test_pages_install_from_a_copy_of_the_repository",
        ),
    ),
    24: Mend(
        "the default back end took ten times as long as another that suits the program",
        (
            "test_solvers/test_clock.py::test_auto_chooses_by_what_the_program_is",
            "test_solvers/test_clock.py::test_equations_overlap_where_a_private_attribute_is_tested",
        ),
    ),
}
