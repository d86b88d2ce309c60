#include "kiln/targets/systolic/run_images.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kiln/ir/batch_shape.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/systolic/binding.h"

namespace kiln::systolic {
namespace {

Status CheckInputs(const SystolicProgram& program, const Batch& batch) {
  if (batch.inputs.size() != program.inputs().size()) {
    return ErrorAt("", "", std::to_string(batch.inputs.size()) + " inputs were given",
                   "the network has " + std::to_string(program.inputs().size()));
  }
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const Binding& binding = program.inputs()[i];
    const Tensor& tensor = batch.inputs[i];
    const std::string place = "input '" + binding.name + "'";
    if (tensor.type() != binding.type()) {
      return ErrorAt("", place, "is given as " + std::string(NameOf(tensor.type())),
                     "the network takes " + std::string(NameOf(binding.type())));
    }
    const Shape wanted = BatchShape(binding.shape, batch.images());
    if (!(tensor.shape() == wanted)) {
      return ErrorAt("", place, "has shape " + tensor.shape().ToString(),
                     "the network takes " + wanted.ToString() + " for as many images");
    }
  }
  return OkStatus();
}

// Memories to work in, one for each image in flight; constants are written once.
class MemoryPool {
 public:
  explicit MemoryPool(const SystolicProgram& program) : program_(program) {}

  std::unique_ptr<std::vector<uint8_t>> Take() {
    std::unique_ptr<std::vector<uint8_t>> memory;
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        memory = std::move(free_.back());
        free_.pop_back();
      }
    }
    const uint64_t base = program_.constants_base(), end = base + program_.constants().size();
    if (memory == nullptr) {
      memory = std::make_unique<std::vector<uint8_t>>(program_.memory_top(), uint8_t{0});
      std::copy(program_.constants().begin(), program_.constants().end(),
                memory->begin() + static_cast<std::ptrdiff_t>(base));
    } else {
      // An image must not see what the last one left behind, or results could depend on which thread ran which.
      std::memset(memory->data(), 0, base);
      std::memset(memory->data() + end, 0, memory->size() - end);
    }
    return memory;
  }
  void Return(std::unique_ptr<std::vector<uint8_t>> memory) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

 private:
  const SystolicProgram& program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> free_;
};

}  // namespace

StatusOr<RunResult> RunImages(const SystolicProgram& program, const Batch& batch,
                              const RunOptions& options, const ImageRunner& run) {
  KILN_RETURN_IF_ERROR(CheckInputs(program, batch));
  const int64_t images = batch.images();
  RunResult result;
  if (images == 0) return result;

  MemoryPool pool(program);
  std::once_flag allocated;
  std::mutex mutex;
  Status failure;
  int64_t done = 0, first_failed = images;
  ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      auto memory = pool.Take();
      Status status;
      for (size_t i = 0; i < batch.inputs.size() && status.ok(); ++i) {
        const Binding& binding = program.inputs()[i];
        status = Store(SampleOf(batch.inputs[i], binding.shape, image), binding, *memory);
      }
      if (status.ok()) status = run(image, *memory);
      if (status.ok()) {
        std::vector<Tensor> values, codes;
        for (const Binding& binding : program.outputs()) {
          values.push_back(Load(binding, *memory));
          codes.push_back(LoadCodes(binding, *memory));
        }
        std::call_once(allocated, [&] {
          for (size_t i = 0; i < values.size(); ++i) {
            result.outputs.emplace_back(values[i].type(), BatchShape(values[i].shape(), images));
            result.codes.emplace_back(codes[i].type(), BatchShape(codes[i].shape(), images));
          }
        });
        for (size_t i = 0; i < values.size(); ++i) {
          SetSample(values[i], image, &result.outputs[i]);
          SetSample(codes[i], image, &result.codes[i]);
        }
      }
      pool.Return(std::move(memory));
      std::lock_guard lock(mutex);
      if (!status.ok() && image < first_failed) {
        failure = status;
        first_failed = image;
      }
      if (options.on_progress) options.on_progress(++done);
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  return result;
}

}  // namespace kiln::systolic
