// Runs the launches of a program at the cycle level and in RTL, side by side.
#include "kiln/targets/cgra/waveform.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/targets/cgra/run_network.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::cgra {
namespace {

namespace fs = std::filesystem;

// Cycles recorded after the end of the run that differs.
constexpr int64_t kAfter = 16;

// The first runs of a stream at both levels.
struct Compared {
  std::vector<uint8_t> expected, actual;  // the stream out
  int64_t expected_cycles = 0, actual_cycles = 0;
};

class BothLevels {
 public:
  BothLevels(const Config& config, const RtlMachine& machine, const RtlOptions& options, bool timed)
      : config_(config), machine_(machine), options_(options), timed_(timed) {}

  // Runs the first `runs` runs of a stream.
  StatusOr<Compared> Run(const LaunchStream& stream, size_t runs,
                         const RecordedCycles& wave = {}) const {
    const std::span<const uint8_t> bytes(stream.bytes.data(), stream.ends[runs - 1]);
    CycleOptions behind;
    behind.memory = StreamMemoryOf(options_);
    behind.beats_out = stream.beats_of_run * static_cast<int64_t>(runs);
    KILN_ASSIGN_OR_RETURN(CycleResult cycle, CycleMachine(config_).Run(bytes, behind));
    const RtlOptions options = LimitedOptions(options_, timed_, cycle.trace.cycles);
    KILN_ASSIGN_OR_RETURN(const RtlMachine::Result rtl,
                          machine_.RunStream(bytes, behind.beats_out, options, wave));
    Compared compared{.expected = std::move(cycle.bytes),
                      .actual = std::vector<uint8_t>(4 * rtl.data.size()),
                      .expected_cycles = cycle.trace.cycles,
                      .actual_cycles = rtl.trace.cycles};
    std::memcpy(compared.actual.data(), rtl.data.data(), compared.actual.size());
    return compared;
  }

  bool SameCycles(const Compared& compared) const {
    return !timed_ || compared.expected_cycles == compared.actual_cycles;
  }

  // Returns the first run of a stream that differs; `whole` is the comparison of all of them.
  StatusOr<std::optional<size_t>> FirstDifferent(const LaunchStream& stream,
                                                 const Compared& whole) const {
    size_t first = stream.ends.size();
    const auto [byte, other] = std::ranges::mismatch(whole.expected, whole.actual);
    if (byte != whole.expected.end()) {
      const auto bytes_of_run = whole.expected.size() / stream.ends.size();
      first = static_cast<size_t>(byte - whole.expected.begin()) / bytes_of_run;
    }
    if (!SameCycles(whole)) {
      const auto takes_other_cycles = [&](size_t runs) -> StatusOr<bool> {
        KILN_ASSIGN_OR_RETURN(const Compared part, Run(stream, runs));
        return !SameCycles(part);
      };
      KILN_ASSIGN_OR_RETURN(const size_t run,
                            LastOfShortestDifference(stream.ends.size(), takes_other_cycles));
      first = std::min(first, run);
    }
    if (first == stream.ends.size()) return std::nullopt;
    return first;
  }

 private:
  const Config& config_;
  const RtlMachine& machine_;
  const RtlOptions& options_;
  const bool timed_;
};

}  // namespace

StatusOr<Waveform> RecordDifference(const NetworkProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_ASSIGN_OR_RETURN(const auto machine,
                        RtlMachine::Build(program.config(), options, /*trace=*/true));
  const BothLevels both(program.config(), *machine, options, timed);
  const auto run_stream = [&](const KernelPlace& place, const LaunchStream& stream, Trace* trace,
                              Waveform* found) -> StatusOr<std::vector<uint8_t>> {
    KILN_ASSIGN_OR_RETURN(Compared whole, both.Run(stream, stream.ends.size()));
    KILN_ASSIGN_OR_RETURN(const std::optional<size_t> run, both.FirstDifferent(stream, whole));
    const int64_t before = place.begin + trace->cycles;
    if (!run.has_value()) {
      Trace part;
      part.cycles = whole.expected_cycles;
      AppendTrace(part, trace);
      return std::move(whole.expected);
    }
    RecordedCycles wave{.file = fs::absolute(file)};
    // Behind memory, results of earlier launches are stored while the differing launch runs.
    if (*run > 0 && !StreamMemoryOf(options).has_value()) {
      KILN_ASSIGN_OR_RETURN(const Compared earlier, both.Run(stream, *run));
      wave.begin = earlier.expected_cycles;
    }
    KILN_ASSIGN_OR_RETURN(const Compared until, both.Run(stream, *run + 1));
    wave.end = std::max(until.expected_cycles, until.actual_cycles) + kAfter;
    KILN_RETURN_IF_ERROR(both.Run(stream, *run + 1, wave).status());
    *found = {.recorded = true,
              .kernel = place.kernel,
              .begin = before + wave.begin,
              .end = before + wave.end};
    return absl::CancelledError("recorded");
  };
  return RecordOnTensorMachine(program, program.network(), batch, [&](Waveform* found) {
    return MakeNetworkMachine(program,
                              [&run_stream, found](const KernelPlace& place, const Launch& launch,
                                                   BufferContents* contents, Trace* trace) {
                                return RunByStream(
                                    launch,
                                    [&](const LaunchStream& stream, Trace* all) {
                                      return run_stream(place, stream, all, found);
                                    },
                                    contents, trace);
                              });
  });
}

}  // namespace kiln::cgra
