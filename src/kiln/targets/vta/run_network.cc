#include "kiln/targets/vta/run_network.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/vta/device.h"
#include "kiln/targets/vta/rtl_machine.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMostThreads = 5;  // of one run: the device's and the host's

Status CheckInputs(const ProgramParts& program, const Batch& batch) {
  if (batch.inputs.size() != program.inputs.size()) {
    return ErrorAt("", "", fmt::format("{} inputs were given", batch.inputs.size()),
                   fmt::format("the network has {}", program.inputs.size()));
  }
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const Slot& slot = program.slots[static_cast<size_t>(program.inputs[i].slot)];
    const Tensor& tensor = batch.inputs[i];
    const std::string place = fmt::format("input '{}'", program.inputs[i].name);
    if (tensor.type() != slot.type) {
      return ErrorAt("", place, fmt::format("is given as {}", NameOf(tensor.type())),
                     fmt::format("the network takes {}", NameOf(slot.type)));
    }
    const Shape wanted = BatchShape(slot.shape, batch.images());
    if (tensor.shape() != wanted) {
      return ErrorAt("", place, fmt::format("has shape {}", tensor.shape().ToString()),
                     fmt::format("the network takes {} for as many images", wanted.ToString()));
    }
  }
  return OkStatus();
}

// A device with the program in its memory.
StatusOr<std::unique_ptr<Device>> DeviceFor(const ProgramParts& program, Level level,
                                            const RtlOptions& rtl, RtlDesigns& designs) {
  auto made = level == Level::kRtl ? MakeRtlDevice(program.config, {}, designs, rtl)
                                   : MakeDevice(NameOf(level), Behind(rtl, program.config));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, std::move(made));
  KILN_ASSIGN_OR_RETURN(const uint64_t address, device->Allocate(program.memory.size()));
  KILN_CHECK(address == MemoryImage::kBase);  // the first pages of a new device
  KILN_RETURN_IF_ERROR(device->Write(address, program.memory));
  return device;
}

// Devices that are free; made when there is none. At the rtl level every run has a new one with a seed of its own: what
// registers hold at power-up, stalls and a DRAM's open row must not depend on what ran before.
class DevicePool {
 public:
  DevicePool(const ProgramParts& program, const RunOptions& options)
      : program_(program),
        options_(options),
        reuses_(options.level != Level::kRtl),
        designs_(options.rtl.folder) {}

  // What devices wait for, once.
  Status Prepare() {
    if (options_.level != Level::kRtl) return OkStatus();
    if (options_.on_step) options_.on_step("building the simulation");
    KILN_RETURN_IF_ERROR(Designs().SimulationOf(program_.config).status());
    if (options_.on_step) options_.on_step("running the simulation");
    return OkStatus();
  }
  // For a run whose first image is `image` of the batch.
  StatusOr<std::unique_ptr<Device>> Take(int64_t image) {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto device = std::move(free_.back());
        free_.pop_back();
        return device;
      }
    }
    RtlOptions rtl = options_.rtl;
    rtl.seed += static_cast<uint64_t>(image);
    return DeviceFor(program_, options_.level, rtl, Designs());
  }
  void Return(std::unique_ptr<Device> device) {
    if (!reuses_) return;
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(device));
  }

 private:
  RtlDesigns& Designs() { return options_.rtl.folder.empty() ? RtlDesigns::Shared() : designs_; }

  const ProgramParts& program_;
  const RunOptions& options_;
  const bool reuses_;
  RtlDesigns designs_;  // of options_.rtl.folder
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> free_;
};

// A unit of the machine in a trace, by counters.
struct UnitRow {
  std::string_view name;
  Counter busy;
  std::vector<std::pair<std::string_view, Counter>> stalls;
};

const std::vector<UnitRow>& UnitRows() {
  static const auto* rows = new std::vector<UnitRow>{
      {"load",
       Counter::kLoadBusy,
       {{"tokens", Counter::kLoadTokens}, {"memory port", Counter::kLoadPort}}},
      {"gemm",
       Counter::kGemmSteps,
       {{"tokens", Counter::kComputeTokens},
        {"banks", Counter::kComputeBanks},
        {"examination", Counter::kComputeExamining},
        {"micro-ops", Counter::kComputeMicroOpsLoading},
        {"queue", Counter::kComputeQueueFull}}},
      {"alu", Counter::kAluBusy, {}},
      {"loader", Counter::kLoaderBusy, {{"memory port", Counter::kLoaderPort}}},
      {"store", Counter::kStoreBusy, {{"tokens", Counter::kStoreTokens}}}};
  return *rows;
}

Trace TraceOf(const ProgramParts& program, const NetworkRun& run) {
  Trace trace;
  trace.images = run.images();
  for (const UnitRow& row : UnitRows()) {
    UnitTrace unit;
    unit.name = row.name;
    trace.units.push_back(std::move(unit));
  }
  for (const auto& [kernel, time] : run.times()) {
    const int64_t begin = trace.cycles;
    trace.cycles += static_cast<int64_t>(time.cycles);
    const Counters& c = time.counters;
    const int64_t macs = trace.images * program.kernels[static_cast<size_t>(kernel)].macs;
    trace.kernels.push_back({kernel, begin, trace.cycles, macs});
    for (size_t u = 0; u < trace.units.size(); ++u) {
      const UnitRow& row = UnitRows()[u];
      const auto busy = static_cast<int64_t>(c[row.busy]);
      trace.units[u].busy_cycles += busy;
      for (const auto& [cause, counter] : row.stalls) {
        trace.units[u].stall_cycles[std::string(cause)] += static_cast<int64_t>(c[counter]);
      }
      if (busy > 0) trace.spans.push_back({static_cast<int>(u), kernel, begin, trace.cycles});
    }
    trace.units[0].bytes_read +=
        static_cast<int64_t>(c[Counter::kInputBytes] + c[Counter::kWeightBytes]);
    trace.units[3].bytes_read +=
        static_cast<int64_t>(c[Counter::kAccumulatorBytes] + c[Counter::kUopBytes]);
    trace.units[4].bytes_written += static_cast<int64_t>(c[Counter::kOutputBytes]);
  }
  return trace;
}

}  // namespace

StatusOr<RunResult> RunNetwork(const VtaProgram& compiled, const Batch& batch,
                               const RunOptions& options, const PieceObserver& observer) {
  const ProgramParts& program = compiled.parts();
  KILN_RETURN_IF_ERROR(CheckInputs(program, batch));
  const int64_t images = batch.images(), at_once = program.images_at_once,
                runs = CeilDivide(images, at_once);
  RunResult result;
  if (images == 0) return result;
  DevicePool pool(program, options);
  KILN_RETURN_IF_ERROR(pool.Prepare());
  std::once_flag allocated;
  std::mutex mutex;
  Status failure;
  int64_t done = 0, first_failed = runs;
  if (options.level != Level::kFunctional)
    result.cycles_per_image.assign(static_cast<size_t>(images), 0);
  const auto threads = static_cast<int>(std::clamp<int64_t>(ThreadCount() / runs, 1, kMostThreads));

  // `count` images from `first` on, at most as many as the machine has rows.
  const auto run_from = [&](int64_t first, int64_t count) -> Status {
    const auto here = static_cast<int>(count);
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, pool.Take(first));
    NetworkRun run(program, device.get(), here, threads, observer);
    for (int row = 0; row < here; ++row) {
      for (size_t i = 0; i < batch.inputs.size(); ++i) {
        const Shape& shape = program.slots[static_cast<size_t>(program.inputs[i].slot)].shape;
        run.SetInput(row, i, SampleOf(batch.inputs[i], shape, first + row));
      }
    }
    KILN_RETURN_IF_ERROR(run.Run());
    for (int row = 0; row < here; ++row) {
      std::vector<std::pair<Tensor, Tensor>> outputs;
      for (size_t i = 0; i < program.outputs.size(); ++i) outputs.push_back(run.Output(row, i));
      std::call_once(allocated, [&] {
        for (const auto& [values, codes] : outputs) {
          result.outputs.emplace_back(values.type(), BatchShape(values.shape(), images));
          result.codes.emplace_back(codes.type(), BatchShape(codes.shape(), images));
        }
      });
      for (size_t i = 0; i < outputs.size(); ++i) {
        SetSample(outputs[i].first, first + row, &result.outputs[i]);
        SetSample(outputs[i].second, first + row, &result.codes[i]);
      }
    }
    if (!result.cycles_per_image.empty()) {
      Trace trace = TraceOf(program, run);
      std::fill_n(result.cycles_per_image.begin() + first, here, trace.cycles);
      if (first == 0) result.trace = std::move(trace);
    }
    pool.Return(std::move(device));
    return OkStatus();
  };
  ParallelFor(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      Status status = run_from(index * at_once, std::min(at_once, images - index * at_once));
      // Of images that are worked on together the one that failed first need not be the lowest that fails.
      for (int64_t row = 0;
           !status.ok() && at_once > 1 && row < std::min(at_once, images - index * at_once);
           ++row) {
        if (const Status alone = run_from(index * at_once + row, 1); !alone.ok()) {
          status = alone;
          break;
        }
      }
      std::lock_guard lock(mutex);
      if (!status.ok() && index < first_failed) {
        failure = status;
        first_failed = index;
      }
      done += std::min(at_once, images - index * at_once);
      if (options.on_progress) options.on_progress(done);
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  return result;
}

}  // namespace kiln::vta
