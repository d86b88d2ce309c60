// The machine of one image: gathers and stores what launches read and write, and streams launches.

#include "kiln/targets/cgra/run_network.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/isa/program.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "kiln/targets/cgra/simulate/rtl/machine.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/run/merge_trace.h"

namespace kiln::cgra {
namespace {

// Runs of a launch are sent in pieces of at most this many bytes; each piece loads the program.
constexpr int64_t kMostPieceBytes = int64_t{1} << 26;

int64_t RunsInPiece(const Launch& launch, int64_t lanes) {
  const int64_t bytes = 4 * launch.threads * lanes * std::max<int64_t>(1, std::ssize(launch.feeds));
  return std::clamp<int64_t>(kMostPieceBytes / bytes, 1, launch.runs);
}

}  // namespace

Status RunByStream(const Launch& launch, const StreamRun& run, BufferContents* contents,
                   Trace* trace) {
  const CgraProgram& program = launch.mapped->program;
  const int64_t lanes = program.config.lanes, results = ResultsOf(launch, lanes);
  const int64_t piece = RunsInPiece(launch, lanes);
  for (int64_t begin = 0; begin < launch.runs; begin += piece) {
    const int64_t end = std::min(launch.runs, begin + piece);
    LaunchStream stream{.beats_of_run = results / lanes};
    AppendLoad(program, &stream.bytes);
    for (int64_t r = begin; r < end; ++r) {
      AppendRun(program, launch.threads, launch.first_sent, DataOf(launch, r, lanes, *contents),
                &stream.bytes);
      stream.ends.push_back(stream.bytes.size());
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> out, run(stream, trace));
    KILN_CHECK(std::ssize(out) == (end - begin) * results * 4);
    std::vector<int32_t> numbers(static_cast<size_t>(results));
    for (int64_t r = begin; r < end; ++r) {
      std::memcpy(numbers.data(), &out[static_cast<size_t>((r - begin) * results * 4)],
                  static_cast<size_t>(results) * 4);
      StoreResults(launch, r, lanes, numbers, contents);
    }
  }
  return OkStatus();
}

namespace {

// What all machines of a run share: the level, and the simulation of the hardware.
class Levels {
 public:
  Levels(const NetworkProgram& program, const RunOptions& options)
      : config_(program.config()), options_(options) {}

  Status Prepare() {
    if (options_.level != Level::kRtl) return OkStatus();
    KILN_ASSIGN_OR_RETURN(simulation_, RtlMachine::Build(config_, options_.rtl));
    return OkStatus();
  }

  Status Run(const Launch& launch, const RtlOptions& rtl, BufferContents* contents,
             Trace* trace) const {
    const StreamRun run = [&](const LaunchStream& stream,
                              Trace* all) -> StatusOr<std::vector<uint8_t>> {
      if (options_.level == Level::kFunctional) return FunctionalMachine(config_).Run(stream.bytes);
      if (options_.level == Level::kCycle) {
        CycleOptions options;
        options.memory = StreamMemoryOf(rtl);
        options.beats_out = stream.beats_out();
        KILN_ASSIGN_OR_RETURN(CycleResult result, CycleMachine(config_).Run(stream.bytes, options));
        AppendTrace(result.trace, all);
        return std::move(result.bytes);
      }
      KILN_ASSIGN_OR_RETURN(const RtlMachine::Result result,
                            simulation_->RunStream(stream.bytes, stream.beats_out(), rtl));
      AppendTrace(result.trace, all);
      std::vector<uint8_t> bytes(result.data.size() * 4);
      std::memcpy(bytes.data(), result.data.data(), bytes.size());
      return bytes;
    };
    return RunByStream(launch, run, contents, trace);
  }

 private:
  const Config& config_;
  const RunOptions& options_;
  std::unique_ptr<RtlMachine> simulation_;
};

class NetworkMachine final : public TensorMachine {
 public:
  NetworkMachine(const NetworkProgram& program, LaunchRun run)
      : TensorMachine(program.network(), HostsOf(program.lowered(), &LoweredKernel::host),
                      program.views()),
        program_(program),
        run_(std::move(run)) {}

 protected:
  StatusOr<Trace> RunKernel(size_t k) override {
    const MachineKernel& kernel = *program_.lowered()[k].machine;
    BufferContents contents;
    size_t result = 0;
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.is_result) result = contents.size();
      if (buffer.value != nullptr) {
        const std::vector<int64_t> wide = CodesOf(buffer.value).ToInts();
        contents.emplace_back(wide.begin(), wide.end());
      } else if (!buffer.constants.empty()) {
        contents.push_back(buffer.constants);
      } else {
        contents.emplace_back(static_cast<size_t>(buffer.size), buffer.fill);
      }
    }
    Trace trace;
    for (const Launch& launch : kernel.launches)
      KILN_RETURN_IF_ERROR(run_(PlaceOf(k), launch, &contents, &trace));
    const std::span<const int32_t> numbers = contents[result];
    const Value* const value = kernel.result;
    if (kernel.line.has_value()) {
      SetNumbers(value, ValuesOfSums(numbers, *kernel.line, value->shape()));
    } else {
      SetCodes(value, TensorOfCodes(value->quantisation()->type.format, value->shape(), numbers));
    }
    return trace;
  }

 private:
  const NetworkProgram& program_;
  const LaunchRun run_;
};

}  // namespace

std::unique_ptr<TensorMachine> MakeNetworkMachine(const NetworkProgram& program, LaunchRun run) {
  return std::make_unique<NetworkMachine>(program, std::move(run));
}

StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options) {
  Levels levels(program, options);
  return RunOnTensorMachines(
      program, program.network(), batch, options, [&] { return levels.Prepare(); },
      [&](const RtlOptions& rtl) {
        return MakeNetworkMachine(program, [&levels, rtl](const KernelPlace&, const Launch& launch,
                                                          BufferContents* contents, Trace* trace) {
          return levels.Run(launch, rtl, contents, trace);
        });
      });
}

}  // namespace kiln::cgra
