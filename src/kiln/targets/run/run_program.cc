// Runs groups of images on a pool of machines and collects their results.

#include "kiln/targets/run/run_program.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/batch_shape.h"
#include "kiln/targets/run/merge_trace.h"

namespace kiln {
namespace {

// Checks number, types and shapes of a batch's inputs.
Status CheckInputs(std::span<const ProgramInput> inputs, const Batch& batch) {
  if (batch.inputs.size() != inputs.size()) {
    return ErrorAt("", "", fmt::format("{} inputs were given", batch.inputs.size()),
                   fmt::format("the network has {}", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = batch.inputs[i];
    const std::string place = fmt::format("input '{}'", inputs[i].name);
    if (tensor.type() != inputs[i].type) {
      return ErrorAt("", place, fmt::format("is given as {}", NameOf(tensor.type())),
                     fmt::format("the network takes {}", NameOf(inputs[i].type)));
    }
    const Shape wanted = BatchShape(inputs[i].shape, batch.images());
    if (tensor.shape() != wanted) {
      return ErrorAt("", place, fmt::format("has shape {}", tensor.shape().ToString()),
                     fmt::format("the network takes {} for as many images", wanted.ToString()));
    }
  }
  return OkStatus();
}

// A pool of free machines. Take makes a new machine if none is free.
class MachinePool {
 public:
  explicit MachinePool(MachineFactory& factory) : factory_(factory) {}

  StatusOr<std::unique_ptr<ImageMachine>> Take(int64_t first) {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<ImageMachine> machine = std::move(free_.back());
        free_.pop_back();
        return machine;
      }
    }
    return factory_.Make(first);
  }
  void Return(std::unique_ptr<ImageMachine> machine) {
    if (!factory_.ReusesMachines()) return;
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(machine));
  }

 private:
  MachineFactory& factory_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ImageMachine>> free_;
};

}  // namespace

StatusOr<RunResult> RunProgram(const Program& program, const Batch& batch,
                               const RunOptions& options, MachineFactory& factory) {
  const std::vector<ProgramInput> inputs = factory.Inputs();
  KILN_RETURN_IF_ERROR(CheckInputs(inputs, batch));
  const int64_t images = batch.images();
  RunResult result;
  if (images == 0) return result;
  KILN_RETURN_IF_ERROR(factory.Prepare());
  const bool has_time = factory.HasTime();
  if (has_time) result.cycles_per_image.assign(static_cast<size_t>(images), 0);
  MachinePool pool(factory);
  BatchTensors values(images), codes(images);

  const auto run = [&](const ImageGroup& group) -> Status {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<ImageMachine> machine, pool.Take(group.first));
    machine->Begin(group);
    for (int64_t row = 0; row < group.count; ++row) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        KILN_RETURN_IF_ERROR(
            machine->Load(row, i, SampleOf(batch.inputs[i], inputs[i].shape, group.first + row)));
      }
    }
    KILN_ASSIGN_OR_RETURN(Trace trace, machine->Run());
    for (int64_t row = 0; row < group.count; ++row) {
      std::vector<Tensor> image_values, image_codes;
      for (OutputTensor& output : machine->Outputs(row)) {
        image_values.push_back(std::move(output.values));
        image_codes.push_back(std::move(output.codes));
      }
      values.Add(group.first + row, image_values);
      codes.Add(group.first + row, image_codes);
    }
    pool.Return(std::move(machine));
    if (!has_time) return OkStatus();
    std::fill_n(result.cycles_per_image.begin() + group.first, group.count, trace.cycles);
    if (group.first == 0) {
      trace.images = group.count;
      MergeKernels(program.kernels(), &trace);
      result.trace = std::move(trace);
    }
    return OkStatus();
  };
  BatchLoop loop{.images = images, .at_once = program.images_at_once()};
  if (options.on_progress) {
    loop.progress = [&](int64_t done, int64_t) { options.on_progress(done); };
  }
  KILN_RETURN_IF_ERROR(RunGroups(loop, run));
  result.outputs = values.Take();
  result.codes = codes.Take();
  return result;
}

Status RunImage(ImageMachine& machine, std::span<const Tensor> inputs) {
  machine.Begin({.first = 0, .count = 1});
  for (size_t i = 0; i < inputs.size(); ++i) KILN_RETURN_IF_ERROR(machine.Load(0, i, inputs[i]));
  return machine.Run().status();
}

}  // namespace kiln
