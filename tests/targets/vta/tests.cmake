# Tests of the VTA family.
kiln_tests(vta FOLDER targets/vta LINK kiln_vta nlohmann_json::nlohmann_json)
