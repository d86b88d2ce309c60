# Fuzz targets of the dataflow family.
kiln_fuzzer(dataflow_fold_fuzz LINK kiln_dataflow)
kiln_fuzzer(dataflow_pipeline_fuzz
  ${PROJECT_SOURCE_DIR}/tests/targets/dataflow/random_pipeline.cc LINK kiln_dataflow)
target_sources(fuzz_seeds PRIVATE dataflow_seeds.cc)
target_link_libraries(fuzz_seeds PRIVATE kiln_dataflow)
