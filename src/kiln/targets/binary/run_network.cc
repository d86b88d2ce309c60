// The machine of one image: records are gathered from the host's tensors, and results scattered to
// them.

#include "kiln/targets/binary/run_network.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "kiln/execute/codes.h"
#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "kiln/targets/binary/simulate/rtl/machine.h"
#include "kiln/targets/run/merge_trace.h"

namespace kiln::binary {
namespace {

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

class NetworkMachine final : public TensorMachine {
 public:
  NetworkMachine(const NetworkProgram& program, LaunchRun run)
      : TensorMachine(program.network(), HostsOf(program.hosts()), program.views()),
        program_(program),
        run_(std::move(run)) {}

 protected:
  StatusOr<Trace> RunKernel(size_t k) override {
    std::unordered_map<const Value*, std::vector<int32_t>> results;
    Trace trace;
    const std::vector<Launch>& launches = program_.launches()[k];
    for (size_t l = 0; l < launches.size(); ++l) {
      const Launch& launch = launches[l];
      for (const ResultPart& part : launch.results) {
        results[part.value].resize(static_cast<size_t>(part.value->shape().NumElements()));
      }
      KILN_ASSIGN_OR_RETURN(const StageResults codes, run_(PlaceOf(k), l, Records(launch), &trace));
      for (const ResultPart& part : launch.results) Store(launch, part, codes, &results);
    }
    for (const auto& [value, codes] : results) {
      SetCodes(value,
               TensorOfCodes<int32_t>(value->quantisation()->type.format, value->shape(), codes));
    }
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
      MapSize size = SizeOf(part.value->shape());
      if (ReadsRows(first, part.value->shape())) {
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

  const NetworkProgram& program_;
  const LaunchRun run_;
};

// What all machines of a run share: the level, the simulation of the hardware, and counts.
class Levels {
 public:
  // `counts` and `observer` belong to the functional level, and may be null.
  Levels(const NetworkProgram& program, const RunOptions& options, NetworkCounts* counts = nullptr,
         const NetworkObserver* observer = nullptr)
      : program_(program), options_(options), counts_(counts), observer_(observer) {}

  StatusOr<RunResult> Run(const Batch& batch) {
    return RunOnTensorMachines(
        program_, program_.network(), batch, options_, [this] { return Prepare(); },
        [this](const RtlOptions& rtl) {
          return MakeNetworkMachine(
              program_, [this, rtl](const KernelPlace& place, size_t launch,
                                    std::span<const int32_t> records, Trace* trace) {
                return RunLaunch(static_cast<size_t>(place.kernel), launch, records, rtl, trace);
              });
        });
  }

 private:
  Status Prepare() {
    if (options_.level != Level::kRtl) return OkStatus();
    KILN_ASSIGN_OR_RETURN(simulation_, RtlMachine::Build(program_.config(), options_.rtl));
    return OkStatus();
  }

  StatusOr<StageResults> RunLaunch(size_t k, size_t l, std::span<const int32_t> records,
                                   const RtlOptions& rtl, Trace* trace) {
    const Launch& launch = program_.launches()[k][l];
    if (options_.level == Level::kCycle) {
      KILN_ASSIGN_OR_RETURN(CycleResult result,
                            RunCycle(launch.program, records, StreamMemoryOf(rtl)));
      AppendTrace(result.trace, trace);
      return std::move(result.results);
    }
    if (options_.level == Level::kRtl) {
      KILN_ASSIGN_OR_RETURN(RtlMachine::Result result,
                            simulation_->Run(launch.program, records, rtl));
      AppendTrace(result.trace, trace);
      return std::move(result.results);
    }
    return RunAndCountLaunch(k, l, records);
  }

  StageResults RunAndCountLaunch(size_t k, size_t l, std::span<const int32_t> records) {
    const Launch& launch = program_.launches()[k][l];
    std::vector<int64_t> channels;
    if (counts_ != nullptr) channels = program_.ChannelsOf(k, launch);
    SumObserver observer;
    if (observer_ != nullptr && *observer_) {
      observer = [&](int stage, int test, int64_t channel, int64_t sum, bool above) {
        const std::scoped_lock lock(mutex_);
        (*observer_)(k, l, stage, test, channel, sum, above);
      };
    }
    FunctionalResult result = RunFunctional(launch.program, records, channels, observer);
    if (counts_ != nullptr) {
      const std::scoped_lock lock(mutex_);
      std::vector<StageCounts>& counts = (*counts_)[k];
      counts.resize(result.counts.size());
      for (size_t i = 0; i < counts.size(); ++i) counts[i] += result.counts[i];
    }
    return std::move(result.results);
  }

  const NetworkProgram& program_;
  const RunOptions& options_;
  NetworkCounts* const counts_;
  const NetworkObserver* const observer_;
  std::unique_ptr<RtlMachine> simulation_;
  std::mutex mutex_;
};

}  // namespace

bool ReadsRows(const StageProgram& first, const Shape& shape) {
  return first.height == 1 && first.kernel_width == 1 && SizeOf(shape).height > 1;
}

std::unique_ptr<TensorMachine> MakeNetworkMachine(const NetworkProgram& program, LaunchRun run) {
  return std::make_unique<NetworkMachine>(program, std::move(run));
}

StatusOr<RunResult> RunNetwork(const NetworkProgram& program, const Batch& batch,
                               const RunOptions& options) {
  return Levels(program, options).Run(batch);
}

StatusOr<RunResult> RunAndCount(const NetworkProgram& program, const Batch& batch,
                                const RunOptions& options, NetworkCounts* counts,
                                const NetworkObserver& observer) {
  counts->assign(program.launches().size(), {});
  return Levels(program, options, counts, &observer).Run(batch);
}

}  // namespace kiln::binary
