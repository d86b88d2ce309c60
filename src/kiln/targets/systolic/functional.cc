#include "kiln/targets/systolic/functional.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/int8_gemm.h"
#include "kiln/support/check.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/systolic/host.h"
#include "kiln/targets/systolic/run_images.h"
#include "kiln/targets/systolic/vector_engine.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kStripBytes = 128 * 1024;          // of the padded image that one task works on
constexpr int64_t kSumBytes = 96 * 1024;             // of the sums of one pixel tile
constexpr int64_t kMaxHostBytes = int64_t{1} << 32;  // of any one buffer
constexpr int64_t kVectorGrain = 16384;              // elements a task of a vector instruction

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDivide(a, b) * b; }

// Buffers of one task; a task never waits for another one, so threads may keep them.
struct Workspace {
  std::vector<uint8_t> strip;
  std::vector<int64_t> pixels;
  std::vector<int32_t> sums;
};

template <typename T>
T* Reserve(std::vector<T>& buffer, int64_t count) {
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

// A convolution as the kernels see it. A matrix product (one image row) stands upright, so that its rows are image rows
// and can be shared out.
Convolution Upright(Convolution c) {
  if (c.height == 1 && c.out_height == 1 && c.kernel_y == 1 && c.pad_top == 0) {
    std::swap(c.height, c.width);
    std::swap(c.out_height, c.out_width);
    std::swap(c.kernel_y, c.kernel_x);
    std::swap(c.stride_y, c.stride_x);
    std::swap(c.dilation_y, c.dilation_x);
    std::swap(c.pad_top, c.pad_left);
    std::swap(c.input_row_stride, c.input_column_stride);
  }
  return c;
}

// [taps * channels][out_channels] codes from the tiles or the strided matrix of one batch.
std::vector<int8_t> DenseWeights(const Instruction& instruction, const Config& config, const uint8_t* at) {
  const Convolution& c = instruction.convolution;
  const int64_t columns = c.out_channels;
  std::vector<int8_t> dense(static_cast<size_t>(int64_t{c.taps()} * c.channels * columns));
  if (c.weight_layout == WeightLayout::kStrided) {
    for (int64_t k = 0; k < c.channels; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        dense[static_cast<size_t>(k * columns + n)] =
            static_cast<int8_t>(at[k * c.weight_row_stride + n * c.weight_column_stride]);
      }
    }
    return dense;
  }
  const Geometry g = GeometryOf(instruction, config);
  for (int32_t tile = 0; tile < g.column_tiles; ++tile) {
    const int64_t first = int64_t{tile} * config.array_columns;
    const auto valid = static_cast<size_t>(std::min<int64_t>(config.array_columns, columns - first));
    for (int32_t row_tile = 0; row_tile < g.row_tiles(); ++row_tile) {
      for (int32_t row = 0; row < config.array_rows; ++row, at += config.array_columns) {
        const int64_t k = WeightIndex(instruction, config, row_tile, row);
        if (k >= 0) std::memcpy(dense.data() + k * columns + first, at, valid);
      }
    }
  }
  return dense;
}

// [taps][channels] codes from the column tiles of a depthwise instruction.
std::vector<int8_t> DenseDepthwiseWeights(const Convolution& c, int64_t lanes, const uint8_t* at) {
  std::vector<int8_t> dense(static_cast<size_t>(int64_t{c.taps()} * c.channels));
  for (int64_t first = 0; first < c.channels; first += lanes) {
    const auto valid = static_cast<size_t>(std::min(lanes, c.channels - first));
    for (int64_t tap = 0; tap < c.taps(); ++tap, at += lanes) {
      std::memcpy(dense.data() + tap * c.channels + first, at, valid);
    }
  }
  return dense;
}

// Weights of one batch of either kind of instruction.
struct Weights {
  std::unique_ptr<PackedWeights> matrix;
  std::vector<int32_t> depthwise;
};

// Channel parameters of one batch, with the slack that the vector kernels want.
struct Parameters {
  Parameters(const Convolution& c, int64_t batch, const uint8_t* memory) {
    const auto entries = static_cast<size_t>(c.out_channels);
    const uint8_t* at = memory + c.parameters.base + batch * c.parameter_batch_stride;
    const size_t padded = entries + static_cast<size_t>(kFloatSlack);
    offset.resize(padded);
    scale.resize(padded);
    bias.resize(padded);
    std::memcpy(offset.data(), at, entries * 4);
    std::memcpy(scale.data(), at + entries * 4, entries * 4);
    std::memcpy(bias.data(), at + entries * 8, entries * 4);
  }
  std::vector<int32_t> offset;
  std::vector<float> scale, bias;
};

}  // namespace

class FunctionalMachine::Kernel {
 public:
  Kernel(const Instruction& instruction, const Config& config)
      : instruction_(instruction), config_(config), engine_(instruction_.vector, config_) {}

  // Error: buffers that no sensible program needs.
  Status Prepare(uint64_t constants_base, std::span<const uint8_t> constants) {
    if (!HasArray()) return OkStatus();
    c_ = Upright(instruction_.convolution);
    const int64_t dense = int64_t{c_.taps()} * c_.channels * (IsDepthwise() ? 1 : c_.out_channels);
    padded_width_ = int64_t{c_.out_width - 1} * c_.stride_x + int64_t{c_.kernel_x - 1} * c_.dilation_x + 1;
    row_codes_ = padded_width_ * c_.channels;  // below 2^50, as CheckInstruction bounds both
    const int64_t extent_y = int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
    if (dense > kMaxHostBytes || row_codes_ > kMaxHostBytes || row_codes_ * extent_y > kMaxHostBytes) {
      return ErrorAt("", "", fmt::format("weights of {} codes, image rows of {} codes", dense, row_codes_),
                     fmt::format("at most {}", kMaxHostBytes));
    }
    const bool merge = c_.dilation_x == 1 && !IsDepthwise();
    for (int64_t ky = 0; ky < c_.kernel_y; ++ky) {
      for (int64_t kx = 0; kx < (merge ? 1 : c_.kernel_x); ++kx) {
        run_offsets_.push_back(ky * c_.dilation_y * row_codes_ + kx * c_.dilation_x * c_.channels);
      }
    }
    run_length_ = merge ? int64_t{c_.kernel_x} * c_.channels : c_.channels;
    layout_ = IsDepthwise() ? CodeLayout::kRaw : LayoutOf(level_);
    sum_stride_ = RoundUp(c_.out_channels, 16);

    // Weights that are constants are packed once for all images.
    const int64_t sets = WeightSets();
    const uint64_t begin = c_.weight_base;
    const uint64_t end = begin + static_cast<uint64_t>((sets - 1) * c_.weight_batch_stride + WeightBytes());
    if (c_.weight_batch_stride >= 0 && begin >= constants_base && end <= constants_base + constants.size()) {
      for (int64_t set = 0; set < sets; ++set) {
        weights_.push_back(Pack(constants.data() + (begin - constants_base) + set * c_.weight_batch_stride));
      }
    }
    return OkStatus();
  }

  void Run(bool parallel, uint8_t* memory) const {
    if (instruction_.opcode == Opcode::kEnd) return;
    if (HasArray()) {
      for (int64_t batch = 0; batch < c_.batch; ++batch) RunBatch(batch, parallel, memory);
      return;
    }
    const int64_t rows = engine_.rows();
    const int64_t grain = parallel ? std::max<int64_t>(kVectorGrain / engine_.length(), 1) : rows;
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) { engine_.Run(begin, end - begin, nullptr, memory); });
  }

 private:
  bool IsDepthwise() const { return instruction_.opcode == Opcode::kDepthwise; }
  bool HasArray() const { return instruction_.opcode == Opcode::kMatrix || IsDepthwise(); }
  int64_t WeightSets() const { return c_.weight_batch_stride == 0 ? 1 : c_.batch; }
  int64_t WeightBytes() const {
    if (IsDepthwise()) return RoundUp(c_.out_channels, config_.lanes()) * c_.taps();
    if (c_.weight_layout == WeightLayout::kStrided) {
      // A negative stride reaches below the base: such a matrix is no constant of a compiled program.
      if (c_.weight_row_stride < 0 || c_.weight_column_stride < 0) return kMaxHostBytes;
      return (c_.channels - 1) * c_.weight_row_stride + (c_.out_channels - 1) * c_.weight_column_stride + 1;
    }
    const Geometry g = GeometryOf(instruction_, config_);
    return int64_t{g.column_tiles} * g.row_tiles() * config_.array_rows * config_.array_columns;
  }

  Weights Pack(const uint8_t* at) const {
    Weights weights;
    if (IsDepthwise()) {
      const std::vector<int8_t> dense = DenseDepthwiseWeights(c_, config_.lanes(), at);
      weights.depthwise = PackDepthwiseWeights(c_.taps(), c_.channels, dense.data());
    } else {
      const std::vector<int8_t> dense = DenseWeights(instruction_, config_, at);
      weights.matrix =
          std::make_unique<PackedWeights>(level_, std::ssize(run_offsets_), run_length_, c_.out_channels, dense.data());
    }
    return weights;
  }

  void RunBatch(int64_t batch, bool parallel, uint8_t* memory) const {
    Weights packed_now;
    const Weights* weights;
    if (weights_.empty()) {
      packed_now = Pack(memory + c_.weight_base + batch * c_.weight_batch_stride);
      weights = &packed_now;
    } else {
      weights = &weights_[static_cast<size_t>(WeightSets() == 1 ? 0 : batch)];
    }
    const Parameters parameters(c_, batch, memory);
    const int64_t row_bytes = std::max<int64_t>(row_codes_ * BytesOf(layout_) * c_.stride_y, 1);
    int64_t rows = std::clamp<int64_t>(kStripBytes / row_bytes, 1, c_.out_height);
    if (parallel) rows = std::min(rows, CeilDivide(c_.out_height, 2 * ThreadCount()));
    const auto strips = [&](int64_t begin, int64_t end) { RunStrip(batch, begin, end, *weights, parameters, memory); };
    if (parallel) {
      ParallelFor(c_.out_height, rows, strips);
    } else {
      for (int64_t y = 0; y < c_.out_height; y += rows) strips(y, std::min<int64_t>(y + rows, c_.out_height));
    }
  }

  // Copies the input of output rows [begin, end) with its padding into the layout of the kernels.
  void FillStrip(int64_t batch, int64_t begin, int64_t places_y, const uint8_t* memory, uint8_t* strip) const {
    const int64_t code_bytes = BytesOf(layout_);
    const int64_t left = std::min<int64_t>(c_.pad_left, padded_width_);
    const int64_t inside = std::clamp<int64_t>(padded_width_ - left, 0, c_.width);
    const auto pad = static_cast<int8_t>(c_.pad_code);
    const int64_t extent_y = int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
    for (int64_t place = 0; place < places_y; ++place) {
      if (place % c_.stride_y >= extent_y) continue;  // between the windows
      uint8_t* to = strip + place * row_codes_ * code_bytes;
      const int64_t y = begin * c_.stride_y - c_.pad_top + place;
      if (y < 0 || y >= c_.height) {
        FillCodes(layout_, pad, row_codes_, to);
        continue;
      }
      const uint8_t* row =
          memory + static_cast<int64_t>(c_.input_base) + batch * c_.input_batch_stride + y * c_.input_row_stride;
      FillCodes(layout_, pad, left * c_.channels, to);
      to += left * c_.channels * code_bytes;
      if (c_.input_column_stride == c_.channels) {
        StoreCodes(layout_, reinterpret_cast<const int8_t*>(row), inside * c_.channels, to);
      } else {
        for (int64_t x = 0; x < inside; ++x) {
          StoreCodes(layout_, reinterpret_cast<const int8_t*>(row + x * c_.input_column_stride), c_.channels,
                     to + x * c_.channels * code_bytes);
        }
      }
      to += inside * c_.channels * code_bytes;
      FillCodes(layout_, pad, (padded_width_ - left - inside) * c_.channels, to);
    }
  }

  // Output rows [begin, end) of one batch: products tile by tile, each followed at once by its vector program.
  void RunStrip(int64_t batch, int64_t begin, int64_t end, const Weights& weights, const Parameters& parameters,
                uint8_t* memory) const {
    thread_local Workspace workspace;
    const int64_t places_y = (end - begin - 1) * c_.stride_y + int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
    uint8_t* strip = Reserve(workspace.strip, places_y * row_codes_ * BytesOf(layout_) + kImageSlack);
    FillStrip(batch, begin, places_y, memory, strip);

    const int64_t pixels = (end - begin) * c_.out_width;
    const int64_t most = std::max<int64_t>(kSumBytes / (4 * sum_stride_), 24);
    const int64_t tiles = CeilDivide(pixels, most);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t first = tile * pixels / tiles, count = (tile + 1) * pixels / tiles - first;
      int64_t* offsets = Reserve(workspace.pixels, count);
      for (int64_t p = 0; p < count; ++p) {
        const int64_t y = (first + p) / c_.out_width, x = (first + p) % c_.out_width;
        offsets[p] = y * c_.stride_y * row_codes_ + x * c_.stride_x * c_.channels;
      }
      int32_t* sums = Reserve(workspace.sums, count * sum_stride_);
      if (IsDepthwise()) {
        MultiplyDepthwise(reinterpret_cast<const int8_t*>(strip), offsets, count, run_offsets_.data(),
                          std::ssize(run_offsets_), weights.depthwise, c_.channels, sums, sum_stride_);
      } else {
        weights.matrix->Multiply(strip, offsets, count, run_offsets_.data(), sums, sum_stride_);
      }
      const AccumulatorRows rows{sums,
                                 sum_stride_,
                                 parameters.offset.data(),
                                 parameters.scale.data(),
                                 parameters.bias.data(),
                                 config_.accumulator_bits};
      engine_.Run((batch * c_.out_height + begin) * c_.out_width + first, count, &rows, memory);
    }
  }

  const Instruction instruction_;
  const Config& config_;
  const CpuLevel level_ = GetCpuLevel();
  const VectorEngine engine_;
  // kMatrix and kDepthwise.
  Convolution c_;
  int64_t padded_width_ = 0;  // places of one strip row
  int64_t row_codes_ = 0;     // codes of one strip row
  std::vector<int64_t> run_offsets_;
  int64_t run_length_ = 0;
  CodeLayout layout_ = CodeLayout::kRaw;
  int64_t sum_stride_ = 0;
  std::vector<Weights> weights_;  // one a weight set; empty when they are no constants
};

FunctionalMachine::FunctionalMachine(const Config& config) : config_(config) {}
FunctionalMachine::~FunctionalMachine() = default;

StatusOr<std::unique_ptr<FunctionalMachine>> FunctionalMachine::Create(const Config& config,
                                                                       std::span<const Instruction> instructions,
                                                                       uint64_t memory_bytes, uint64_t constants_base,
                                                                       std::span<const uint8_t> constants) {
  std::unique_ptr<FunctionalMachine> machine(new FunctionalMachine(config));
  machine->config_.memory_bytes = static_cast<int64_t>(memory_bytes);
  machine->kernels_.resize(instructions.size());
  std::mutex mutex;
  Status failure;
  size_t failed = instructions.size();  // the first instruction at fault, whatever the order of work
  ParallelFor(std::ssize(instructions), 1, [&](int64_t begin, int64_t) {
    const auto i = static_cast<size_t>(begin);
    Status status = CheckInstruction(instructions[i], machine->config_);
    if (status.ok()) {
      machine->kernels_[i] = std::make_unique<Kernel>(instructions[i], machine->config_);
      status = machine->kernels_[i]->Prepare(constants_base, constants);
    }
    std::lock_guard lock(mutex);
    if (!status.ok() && i < failed) {
      failed = i;
      failure = WithContext(fmt::format("instruction {}", i), status);
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  return machine;
}

void FunctionalMachine::Run(int begin, int end, bool parallel, std::span<uint8_t> memory) const {
  KILN_CHECK(static_cast<int64_t>(memory.size()) == config_.memory_bytes);
  for (int i = begin; i < end; ++i) kernels_[static_cast<size_t>(i)]->Run(parallel, memory.data());
}

namespace {

// The program's machine for this processor level, made at its first use.
StatusOr<std::shared_ptr<const FunctionalMachine>> MachineOf(const SystolicProgram& program) {
  SystolicProgram::FunctionalSlot& slot = program.functional_slot(GetCpuLevel());
  {
    std::lock_guard lock(slot.mutex);
    if (slot.machine != nullptr) return slot.machine;
  }
  // Made outside the lock, since it runs in parallel and a thread that waits may take up another run of the program.
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<const FunctionalMachine> machine,
                        FunctionalMachine::Create(program.config(), program.instructions(), program.memory_top(),
                                                  program.constants_base(), program.constants()));
  std::lock_guard lock(slot.mutex);
  if (slot.machine == nullptr) slot.machine = std::move(machine);
  return slot.machine;
}

}  // namespace

StatusOr<RunResult> RunFunctional(const SystolicProgram& program, const Batch& batch, const RunOptions& options) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionalMachine> machine, MachineOf(program));
  // With enough images every thread has its own; else they share the kernels of one.
  const bool parallel = batch.images() < 2 * ThreadCount();
  return RunImages(program, batch, options, [&](int64_t, std::span<uint8_t> memory) -> Status {
    for (const Step& step : program.steps()) {
      if (step.kind == Step::Kind::kInstructions) {
        machine->Run(step.begin, step.end, parallel, memory);
      } else {
        KILN_RETURN_IF_ERROR(RunHostStep(program.host_steps()[static_cast<size_t>(step.begin)], memory));
      }
    }
    return OkStatus();
  });
}

}  // namespace kiln::systolic
