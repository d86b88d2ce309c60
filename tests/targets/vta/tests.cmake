# Tests of the VTA family.
kiln_tests(vta FOLDER targets/vta LINK kiln_vta nlohmann_json::nlohmann_json)
target_sources(vta_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../lower/sign_network.cc)
target_sources(conformance_test PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/agreement.cc
  ${CMAKE_CURRENT_LIST_DIR}/random_program.cc)
