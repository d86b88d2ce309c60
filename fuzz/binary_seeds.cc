// Seeds of the fuzz targets of the binary family.
#include <filesystem>

#include "fuzz/seeds.h"
#include "kiln/targets/binary/compile/trained_thresholds.h"

namespace kiln {
namespace {

void WriteThresholds(const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / "binary_thresholds_fuzz";
  WriteSeed(own / "empty.json", *binary::PrintThresholds({}));
  WriteSeed(own / "two.json",
            *binary::PrintThresholds({{"relu1", {{1, {0.25, -0.5}}, {3, {1e-3, 7.0}}}},
                                      {"a \"quoted\" name", {{63, {-1e300}}}}}));
  WriteSeed(own / "twice.json", "{\"a\": {\"1\": [1], \"01\": [2]}}");
}

const SeedWriter kBinary(&WriteThresholds);

}  // namespace
}  // namespace kiln
