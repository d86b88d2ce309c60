// Fuzz target: parses any text as VTA test vectors. The result must be a one-line error, or a
// vector that can be run to some result.
#include <cstdint>
#include <string_view>

#include "fuzz/one_line.h"
#include "kiln/support/check.h"
#include "kiln/support/json_reader.h"
#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/run/run_vector.h"
#include "kiln/targets/vta/runtime/runtime_vector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kiln::vta;  // NOLINT: a program of one file
  constexpr uint64_t kMostSteps = 100000;
  const auto parsed = kiln::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!parsed.ok() || !parsed->is_object()) return 0;
  const kiln::Json& json = *parsed;
  const std::filesystem::path file = "/nowhere/fuzz.json";  // memory images beside it do not exist
  const auto program = ParseProgramVector(json, file);
  if (program.ok()) {
    (void)FindDifference(*program, 0, kMostSteps);
  } else {
    kiln::CheckOneLine(program.status());
  }
  const auto calls = ParseRuntimeVector(json, file);
  if (calls.ok()) {
    (void)Replay(*calls, "functional");
  } else {
    kiln::CheckOneLine(calls.status());
  }
  return 0;
}
