# Tests of the VTA family.
kiln_tests(vta FOLDER targets/vta LINK kiln_vta nlohmann_json::nlohmann_json)
kiln_tests(vta_driver FOLDER targets/vta/driver LINK kiln_vta)
target_sources(vta_driver_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/compiled.cc)
target_sources(vta_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../lower/sign_network.cc)
target_sources(conformance_test PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/agreement.cc
  ${CMAKE_CURRENT_LIST_DIR}/random_program.cc)
