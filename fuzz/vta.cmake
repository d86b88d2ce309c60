# Fuzz targets of the VTA family.
kiln_fuzzer(vta_program_fuzz LINK kiln_vta)
kiln_fuzzer(vta_remote_fuzz LINK kiln_vta)
kiln_fuzzer(vta_text_fuzz LINK kiln_vta)
kiln_fuzzer(vta_vector_fuzz LINK kiln_vta nlohmann_json::nlohmann_json)
target_sources(fuzz_seeds PRIVATE vta_seeds.cc)
target_link_libraries(fuzz_seeds PRIVATE kiln_vta)
