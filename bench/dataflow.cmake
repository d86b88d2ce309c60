# Benchmarks of the dataflow family.
kiln_bench(dataflow_fold kiln_dataflow CLI11::CLI11)
target_sources(dataflow_fold
  PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/dataflow/fold/networks.cc)
target_include_directories(dataflow_fold PRIVATE ${PROJECT_SOURCE_DIR})

kiln_bench(dataflow_resources kiln_flow kiln_dataflow CLI11::CLI11)

kiln_bench(dataflow_random_programs kiln_dataflow CLI11::CLI11)
target_sources(dataflow_random_programs
  PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/dataflow/agreement.cc
  ${PROJECT_SOURCE_DIR}/tests/targets/dataflow/random_pipeline.cc)
target_include_directories(dataflow_random_programs PRIVATE ${PROJECT_SOURCE_DIR})
