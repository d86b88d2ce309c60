// The machine of one image: records are gathered from the host's tensors, and results scattered to
// them.

#include "kiln/targets/binary/run_network.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/rtl/machine.h"
#include "kiln/targets/run/level_machines.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/run_program.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln::binary {
namespace {

// What all machines of a run share: the level, the simulation of the hardware, and counts.
struct Shared {
  const NetworkProgram& program;
  const RunOptions& options;
  std::unique_ptr<RtlMachine> simulation = nullptr;
  NetworkCounts* counts = nullptr;
  const NetworkObserver* observer = nullptr;
  std::mutex mutex = {};
};

// Returns codes of at most 16 bits as a tensor of their format's element type.
Tensor CodeTensor(const Format& format, const Shape& shape, std::span<const int32_t> codes) {
  Tensor tensor(CodeElementType(format), shape);
  const auto fill = [&]<typename T>(T) {
    std::ranges::transform(codes, tensor.data<T>().begin(),
                           [](int32_t code) { return static_cast<T>(code); });
  };
  if (format.bits > 8) {
    format.is_signed ? fill(int16_t{}) : fill(uint16_t{});
  } else {
    format.is_signed ? fill(int8_t{}) : fill(uint8_t{});
  }
  return tensor;
}

// Height, width and channels of a value's map.
struct MapSize {
  int64_t height = 1, width = 1, channels = 1;
};
MapSize SizeOf(const Shape& shape) {
  MapSize size;
  const int rank = shape.rank();
  size.channels = rank >= 1 ? shape[rank - 1] : 1;
  size.width = rank >= 2 ? shape[rank - 2] : 1;
  for (int i = 0; i + 2 < rank; ++i) size.height *= shape[i];
  return size;
}

class Machine final : public TensorMachine {
 public:
  Machine(Shared* shared, const RtlOptions& rtl)
      : TensorMachine(shared->program.network(), HostsOf(shared->program.hosts()), shared->program.views()),
        shared_(*shared),
        rtl_(rtl) {}

 protected:
  StatusOr<Trace> RunKernel(size_t k) override {
    std::unordered_map<const Value*, std::vector<int32_t>> results;
    Trace trace;
    const std::vector<Launch>& launches = shared_.program.launches()[k];
    for (size_t l = 0; l < launches.size(); ++l) {
      const Launch& launch = launches[l];
      for (const ResultPart& part : launch.results) {
        results[part.value].resize(static_cast<size_t>(part.value->shape().NumElements()));
      }
      const std::vector<int32_t> records = Records(launch);
      KILN_ASSIGN_OR_RETURN(const StageResults codes, RunLaunch(k, l, records, &trace));
      for (const ResultPart& part : launch.results) Store(launch, part, codes, &results);
    }
    for (const auto& [value, codes] : results) {
      SetCodes(value, CodeTensor(value->quantisation()->type.format, value->shape(), codes));
    }
    for (Span& span : trace.spans) span.kernel = static_cast<int>(k);
    return trace;
  }

 private:
  std::vector<int32_t> Records(const Launch& launch) const {
    const BlockProgram& program = launch.program;
    const StageProgram& first = program.stages[0];
    const int64_t record = int64_t{program.record_beats} * program.config.beat_codes();
    std::vector<int32_t> records(static_cast<size_t>(record * first.height * first.width), 0);
    for (const RecordPart& part : launch.records) {
      const Tensor codes = CodesOf(part.value);
      // A product's rows are the columns of a map of one row.
      MapSize size = SizeOf(part.value->shape());
      if (first.height == 1 && size.height > 1 && first.kernel_width == 1) {
        size.width *= size.height;
        size.height = 1;
      }
      for (int64_t y = 0; y < first.height; ++y) {
        for (int64_t x = 0; x < first.width; ++x) {
          int32_t* const to =
              &records[static_cast<size_t>((y * first.width + x) * record + part.first_code)];
          const int64_t from_y = y + part.y, from_x = x + part.x;
          const bool inside =
              from_y >= 0 && from_y < size.height && from_x >= 0 && from_x < size.width;
          const int64_t at = (from_y * size.width + from_x) * size.channels + part.first_channel;
          for (int64_t c = 0; c < part.channels; ++c)
            to[c] = inside ? static_cast<int32_t>(codes.IntAt(at + c)) - part.shift : part.outside;
        }
      }
    }
    return records;
  }

  StatusOr<StageResults> RunLaunch(size_t k, size_t l, std::span<const int32_t> records,
                                   Trace* trace) {
    const Launch& launch = shared_.program.launches()[k][l];
    if (shared_.options.level == Level::kCycle) {
      KILN_ASSIGN_OR_RETURN(CycleResult result, RunCycle(launch.program, records));
      AppendTrace(result.trace, trace);
      return std::move(result.results);
    }
    if (shared_.options.level == Level::kRtl) {
      KILN_ASSIGN_OR_RETURN(RtlMachine::Result result,
                            shared_.simulation->Run(launch.program, records, rtl_));
      AppendTrace(result.trace, trace);
      return std::move(result.results);
    }
    std::vector<int64_t> channels;
    if (shared_.counts != nullptr) {
      // Of a single layer's part: channels of the part.
      channels = shared_.program.channels()[k];
      if (channels.size() == 1 && !launch.results.empty()) channels[0] = launch.results[0].channels;
    }
    SumObserver observer;
    if (shared_.observer != nullptr && *shared_.observer) {
      observer = [&](int stage, int test, int64_t channel, int64_t sum, bool above) {
        const std::scoped_lock lock(shared_.mutex);
        (*shared_.observer)(k, l, stage, test, channel, sum, above);
      };
    }
    FunctionalResult result = RunFunctional(launch.program, records, channels, observer);
    if (shared_.counts != nullptr) {
      const std::scoped_lock lock(shared_.mutex);
      std::vector<StageCounts>& counts = (*shared_.counts)[k];
      counts.resize(result.counts.size());
      for (size_t i = 0; i < counts.size(); ++i) counts[i] += result.counts[i];
    }
    return std::move(result.results);
  }

  void Store(const Launch& launch, const ResultPart& part, const StageResults& codes,
             std::unordered_map<const Value*, std::vector<int32_t>>* results) const {
    const StageProgram& s = launch.program.stages[static_cast<size_t>(part.stage)];
    std::vector<int32_t>& to_codes = results->at(part.value);
    const std::vector<int32_t>& from_codes = codes[static_cast<size_t>(part.stage)];
    const MapSize size = SizeOf(part.value->shape());
    const int64_t width = s.out_height == 1 ? size.width * size.height : size.width;
    const int64_t channels = s.channels(launch.program.config, part.stage);
    for (int64_t y = 0; y < s.out_height; ++y) {
      for (int64_t x = 0; x < s.out_width; ++x) {
        const int64_t from = (y * s.out_width + x) * channels;
        const int64_t to = (y * width + x + part.x) * size.channels + part.first_channel;
        for (int64_t c = 0; c < part.channels; ++c) {
          to_codes[static_cast<size_t>(to + c)] =
              from_codes[static_cast<size_t>(from + c)] + part.shift;
        }
      }
    }
  }

  Shared& shared_;
  const RtlOptions rtl_;
};

StatusOr<RunResult> RunShared(Shared* shared, const Batch& batch) {
  const NetworkProgram& program = shared->program;
  const auto prepare = [shared]() -> Status {
    const bool uses_machine = std::ranges::any_of(
        shared->program.launches(), [](const auto& launches) { return !launches.empty(); });
    if (shared->options.level != Level::kRtl || !uses_machine) return OkStatus();
    KILN_ASSIGN_OR_RETURN(shared->simulation,
                          RtlMachine::Build(shared->program.config(), shared->options.rtl));
    return OkStatus();
  };
  LevelMachines machines(
      program.network(), shared->options, prepare,
      [shared](const RtlOptions& rtl) { return std::make_unique<Machine>(shared, rtl); });
  return RunProgram(program, batch, shared->options, machines);
}

}  // namespace

StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options) {
  Shared shared{.program = program, .options = options};
  return RunShared(&shared, batch);
}

StatusOr<RunResult> RunAndCount(const NetworkProgram& program, const Batch& batch,
                                const RunOptions& options, NetworkCounts* counts,
                                const NetworkObserver& observer) {
  counts->assign(program.launches().size(), {});
  Shared shared{.program = program, .options = options, .counts = counts, .observer = &observer};
  return RunShared(&shared, batch);
}

}  // namespace kiln::binary
