# Benchmarks of the cgra family.
kiln_bench(cgra_map kiln_cgra CLI11::CLI11)
target_sources(cgra_map PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/cgra/map/naive_rules.cc)
target_include_directories(cgra_map PRIVATE ${PROJECT_SOURCE_DIR})

kiln_bench(cgra_learning kiln_cgra_learn_train CLI11::CLI11)

kiln_bench(cgra_random_programs kiln_cgra CLI11::CLI11)
target_include_directories(cgra_random_programs PRIVATE ${PROJECT_SOURCE_DIR})

kiln_bench(cgra_rtl_programs kiln_cgra CLI11::CLI11)
target_sources(cgra_rtl_programs PRIVATE ${PROJECT_SOURCE_DIR}/tests/rtl/cgra/placed_program.cc)
target_include_directories(cgra_rtl_programs PRIVATE ${PROJECT_SOURCE_DIR})

kiln_bench(cgra_mapped_programs kiln_cgra CLI11::CLI11)
target_sources(cgra_mapped_programs PRIVATE
  ${PROJECT_SOURCE_DIR}/tests/targets/cgra/mapped_program.cc)
target_include_directories(cgra_mapped_programs PRIVATE ${PROJECT_SOURCE_DIR})
