# Benchmarks of the VTA family.
kiln_bench(vta_speed_bench kiln_vta kiln_bench_peak)
kiln_bench(vta_resnet18 kiln_vta CLI11::CLI11)

kiln_bench(vta_random_programs kiln_vta CLI11::CLI11)
target_sources(vta_random_programs PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/vta/agreement.cc
  ${PROJECT_SOURCE_DIR}/tests/targets/vta/random_program.cc)
target_include_directories(vta_random_programs PRIVATE ${PROJECT_SOURCE_DIR})

kiln_bench(vta_serve_soak kiln_vta CLI11::CLI11)
target_sources(vta_serve_soak PRIVATE ${PROJECT_SOURCE_DIR}/tests/targets/vta/soak.cc)
target_include_directories(vta_serve_soak PRIVATE ${PROJECT_SOURCE_DIR})
