// Fuzz target: sends any beats to the functional and the cycle level of a small machine. Each must
// execute them or reject them with one line; if both execute them, their results are the same.
// Writes alone are executed by both or by none.
#include <cstdint>
#include <vector>

#include "fuzz/cgra_machine.h"
#include "fuzz/one_line.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"

namespace {

using namespace kiln::cgra;  // NOLINT: a program of one file

// Returns whole beats. Behind everything that could be the header of a run, the number of threads
// is small: a run without inputs takes any number of threads.
std::vector<uint8_t> BeatsOf(const uint8_t* data, size_t size, const Config& config) {
  const size_t beat = BeatBytes(config);
  std::vector<uint8_t> stream(data, data + size / beat * beat);
  for (size_t at = beat; at < stream.size(); at += beat) {
    if ((stream[at - beat] & 15) != static_cast<uint8_t>(Command::kRun)) continue;
    for (size_t byte = 1; byte < 4; ++byte) stream[at + byte] = 0;
  }
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Config config = SmallMachine();
  const std::vector<uint8_t> stream = BeatsOf(data, size, config);
  FunctionalMachine functional(config);
  CycleMachine cycle(config);
  const auto bytes = functional.Run(stream);
  const auto timed = cycle.Run(stream, {.most_cycles = 100'000});
  kiln::CheckOneLine(bytes.status());
  kiln::CheckOneLine(timed.status());
  if (bytes.ok() && timed.ok()) KILN_CHECK(*bytes == timed->bytes);
  bool runs = false;  // maybe, of a configuration that one of the levels refuses
  for (size_t at = 0; at < stream.size(); at += BeatBytes(config))
    runs = runs || (stream[at] & 15) == static_cast<uint8_t>(Command::kRun);
  KILN_CHECK(runs || bytes.ok() == timed.ok());
  return 0;
}
