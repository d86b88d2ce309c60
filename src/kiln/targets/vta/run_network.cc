#include "kiln/targets/vta/run_network.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/execute/reference.h"
#include "kiln/support/check.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/vta/device.h"
#include "kiln/targets/vta/rtl_machine.h"
#include "kiln/targets/vta/strided_view.h"

namespace kiln::vta {
namespace {

// The shape of N images of a tensor that has `one` as its shape for one image.
Shape BatchShape(const Shape& one, int64_t images) {
  std::vector<int64_t> dims = one.dims();
  if (!dims.empty() && dims[0] == 1) {
    dims[0] = images;
  } else {
    dims.insert(dims.begin(), images);
  }
  return Shape(std::move(dims));
}

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

// A machine with the program in its memory.
class Machine {
 public:
  static StatusOr<std::unique_ptr<Machine>> Create(const ProgramParts& program, Level level, const RtlOptions& rtl,
                                                   RtlDesigns& designs) {
    auto made = level == Level::kRtl ? MakeRtlDevice(program.config, {}, designs, rtl)
                                     : MakeDevice(NameOf(level), program.config);
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, std::move(made));
    KILN_ASSIGN_OR_RETURN(const uint64_t address, device->Allocate(program.memory.size()));
    KILN_CHECK(address == MemoryImage::kBase);  // the first pages of a new device
    KILN_RETURN_IF_ERROR(device->Write(address, program.memory));
    return std::unique_ptr<Machine>(new Machine(program, std::move(device)));
  }

  // What a run of one image leaves behind.
  struct Image {
    std::vector<Tensor> slots;                   // values
    std::unordered_map<int, Tensor> codes;       // of slots that were read from the machine
    std::vector<std::pair<int, RunTime>> times;  // kernel and its launch's time
  };

  Status Run(Image* image) {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      KILN_RETURN_IF_ERROR(Move(step.transfers, image));
      if (step.host.has_value()) KILN_RETURN_IF_ERROR(RunHost(*step.host, image));
      if (!step.launch.has_value()) continue;
      const Status status = device_->Run(step.launch->address, step.launch->instructions.size(), 0);
      if (!status.ok()) return WithContext(fmt::format("layer '{}'", program_.kernels[i].name), status);
      if (const auto time = device_->last_run()) image->times.emplace_back(static_cast<int>(i), *time);
    }
    return Move(program_.final_transfers, image);
  }

 private:
  Machine(const ProgramParts& program, std::unique_ptr<Device> device)
      : program_(program), device_(std::move(device)) {}

  Status Move(const std::vector<Transfer>& transfers, Image* image) {
    for (const Transfer& t : transfers) {
      const FeatureMap& map = program_.maps[static_cast<size_t>(t.map)];
      const uint64_t address = program_.map_addresses[static_cast<size_t>(t.map)];
      const auto bytes = static_cast<size_t>(map.bytes(program_.config));
      Tensor& slot = image->slots[static_cast<size_t>(t.slot)];
      if (t.to_map) {
        const auto initial = program_.memory.begin() + static_cast<std::ptrdiff_t>(address - MemoryImage::kBase);
        buffer_.assign(initial, initial + static_cast<std::ptrdiff_t>(bytes));
        Pack(slot.data<float>(), t.image, t.patch, map, program_.config, buffer_);
        KILN_RETURN_IF_ERROR(device_->Write(address, buffer_));
        continue;
      }
      buffer_.resize(bytes);
      KILN_RETURN_IF_ERROR(device_->Read(address, buffer_));
      const std::vector<int32_t> codes = Unpack(buffer_, map, program_.config);
      const Shape shape{map.height, map.width, map.channels};
      slot = Tensor::Of<float>(shape, ValuesOf(codes, map));
      if (map.wide) {
        image->codes[t.slot] = Tensor::Of<int32_t>(shape, codes);
      } else {
        image->codes[t.slot] = Tensor::Of<int8_t>(shape, std::vector<int8_t>(codes.begin(), codes.end()));
      }
    }
    return OkStatus();
  }

  static StridedView ViewOf(const HostView& view) { return {view.offset, view.shape, view.strides}; }

  Status RunHost(const HostLayer& host, Image* image) {
    const Node& node = *host.graph->nodes().front();
    std::unordered_map<const Value*, Tensor> inputs;
    for (size_t i = 0; i < host.inputs.size(); ++i) {
      const HostView& view = host.inputs[i];
      inputs[host.graph->inputs()[i]] = Gather(image->slots[static_cast<size_t>(view.slot)], ViewOf(view));
    }
    std::vector<const Tensor*> operands;
    for (const Value* operand : node.operands()) {
      operands.push_back(operand == nullptr       ? nullptr
                         : operand->is_constant() ? &operand->constant()
                                                  : &inputs.at(operand));
    }
    KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, EvaluateNode(node, operands));
    for (size_t i = 0; i < host.outputs.size(); ++i) {
      if (host.outputs[i] >= 0) Fill(host.outputs[i], results[i], image);
    }
    return OkStatus();
  }

 public:
  // A slot's tensor from what the host has computed, or was given.
  void Fill(int slot, const Tensor& tensor, Image* image) const {
    const Slot& info = program_.slots[static_cast<size_t>(slot)];
    const bool rounded = info.rounding.has_value() && info.type == ElementType::kFloat32;
    image->slots[static_cast<size_t>(slot)] = rounded ? RoundTensor(tensor, *info.rounding) : tensor;
  }
  // Output i as values and as codes.
  std::pair<Tensor, Tensor> Output(size_t i, const Image& image) const {
    const GraphOutput& output = program_.outputs[i];
    const Tensor values =
        Gather(image.slots[static_cast<size_t>(output.view.slot)], ViewOf(output.view)).Reshaped(output.shape);
    const auto codes = image.codes.find(output.view.slot);
    if (codes == image.codes.end()) return {values, values};
    return {values, Gather(codes->second, ViewOf(output.view)).Reshaped(output.shape)};
  }

 private:
  const ProgramParts& program_;
  const std::unique_ptr<Device> device_;
  std::vector<uint8_t> buffer_;
};

// Machines that are free; made when there is none.
class MachinePool {
 public:
  MachinePool(const ProgramParts& program, const RunOptions& options)
      : program_(program), options_(options), designs_(options.rtl.folder) {}

  StatusOr<std::unique_ptr<Machine>> Take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto machine = std::move(free_.back());
        free_.pop_back();
        return machine;
      }
    }
    RtlDesigns& designs = options_.rtl.folder.empty() ? RtlDesigns::Shared() : designs_;
    return Machine::Create(program_, options_.level, options_.rtl, designs);
  }
  void Return(std::unique_ptr<Machine> machine) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(machine));
  }

 private:
  const ProgramParts& program_;
  const RunOptions& options_;
  RtlDesigns designs_;  // of options_.rtl.folder
  std::mutex mutex_;
  std::vector<std::unique_ptr<Machine>> free_;
};

// Image `image` of a tensor that holds several, without a copy.
Tensor ImageOf(const Tensor& tensor, const Shape& one, int64_t image) {
  const int64_t bytes = one.NumElements() * SizeOf(tensor.type());
  return Tensor::View(tensor.type(), one, std::shared_ptr<const void>(&tensor, [](const void*) {}),
                      tensor.bytes() + image * bytes);
}

void Place(const Tensor& one, int64_t image, Tensor& all) {
  if (one.num_bytes() > 0) {
    std::memcpy(all.mutable_bytes() + image * one.num_bytes(), one.bytes(), static_cast<size_t>(one.num_bytes()));
  }
}

// A unit of the machine in a trace, by counters.
struct UnitRow {
  std::string_view name;
  Counter busy;
  std::vector<std::pair<std::string_view, Counter>> stalls;
};

const std::vector<UnitRow>& UnitRows() {
  static const auto* rows = new std::vector<UnitRow>{
      {"load", Counter::kLoadBusy, {{"tokens", Counter::kLoadTokens}, {"memory port", Counter::kLoadPort}}},
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

Trace TraceOf(const ProgramParts& program, const Machine::Image& image) {
  Trace trace;
  for (const UnitRow& row : UnitRows()) {
    UnitTrace unit;
    unit.name = row.name;
    trace.units.push_back(std::move(unit));
  }
  for (const auto& [kernel, time] : image.times) {
    const int64_t begin = trace.cycles;
    trace.cycles += static_cast<int64_t>(time.cycles);
    const Counters& c = time.counters;
    trace.kernels.push_back({kernel, begin, trace.cycles, program.kernels[static_cast<size_t>(kernel)].macs});
    for (size_t u = 0; u < trace.units.size(); ++u) {
      const UnitRow& row = UnitRows()[u];
      const auto busy = static_cast<int64_t>(c[row.busy]);
      trace.units[u].busy_cycles += busy;
      for (const auto& [cause, counter] : row.stalls) {
        trace.units[u].stall_cycles[std::string(cause)] += static_cast<int64_t>(c[counter]);
      }
      if (busy > 0) trace.spans.push_back({static_cast<int>(u), kernel, begin, trace.cycles});
    }
    trace.units[0].bytes_read += static_cast<int64_t>(c[Counter::kInputBytes] + c[Counter::kWeightBytes]);
    trace.units[3].bytes_read += static_cast<int64_t>(c[Counter::kAccumulatorBytes] + c[Counter::kUopBytes]);
    trace.units[4].bytes_written += static_cast<int64_t>(c[Counter::kOutputBytes]);
  }
  return trace;
}

}  // namespace

StatusOr<RunResult> RunNetwork(const VtaProgram& compiled, const Batch& batch, const RunOptions& options) {
  const ProgramParts& program = compiled.parts();
  KILN_RETURN_IF_ERROR(CheckInputs(program, batch));
  const int64_t images = batch.images();
  RunResult result;
  if (images == 0) return result;
  MachinePool pool(program, options);
  std::once_flag allocated;
  std::mutex mutex;
  Status failure;
  int64_t done = 0;
  if (options.level != Level::kFunctional) result.cycles_per_image.assign(static_cast<size_t>(images), 0);

  const auto run = [&](int64_t index) -> Status {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine, pool.Take());
    Machine::Image image;
    image.slots.resize(program.slots.size());
    for (size_t i = 0; i < batch.inputs.size(); ++i) {
      const int slot = program.inputs[i].slot;
      const Shape& shape = program.slots[static_cast<size_t>(slot)].shape;
      machine->Fill(slot, ImageOf(batch.inputs[i], shape, index), &image);
    }
    KILN_RETURN_IF_ERROR(machine->Run(&image));
    std::vector<std::pair<Tensor, Tensor>> outputs;
    for (size_t i = 0; i < program.outputs.size(); ++i) outputs.push_back(machine->Output(i, image));
    std::call_once(allocated, [&] {
      for (const auto& [values, codes] : outputs) {
        result.outputs.emplace_back(values.type(), BatchShape(values.shape(), images));
        result.codes.emplace_back(codes.type(), BatchShape(codes.shape(), images));
      }
    });
    for (size_t i = 0; i < outputs.size(); ++i) {
      Place(outputs[i].first, index, result.outputs[i]);
      Place(outputs[i].second, index, result.codes[i]);
    }
    if (!result.cycles_per_image.empty()) {
      Trace trace = TraceOf(program, image);
      result.cycles_per_image[static_cast<size_t>(index)] = trace.cycles;
      if (index == 0) result.trace = std::move(trace);
    }
    pool.Return(std::move(machine));
    return OkStatus();
  };
  ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Status status = run(index);
      std::lock_guard lock(mutex);
      if (!status.ok() && failure.ok()) failure = status;
      if (options.on_progress) options.on_progress(++done);
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  return result;
}

}  // namespace kiln::vta
