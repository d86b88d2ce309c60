#include "tests/targets/systolic/naive.h"

#include <array>
#include <cstring>

#include "kiln/targets/systolic/arithmetic.h"

namespace kiln::systolic {
namespace {

using Index = std::array<int32_t, kOuterLoops>;

class Naive {
 public:
  Naive(const Instruction& instruction, const Config& config, std::vector<uint8_t>& memory)
      : instruction_(instruction), config_(config), memory_(memory) {}

  void Run() {
    const VectorProgram& v = instruction_.vector;
    Index i;
    for (i[0] = 0; i[0] < v.outer[0]; ++i[0]) {
      for (i[1] = 0; i[1] < v.outer[1]; ++i[1]) {
        for (i[2] = 0; i[2] < v.outer[2]; ++i[2]) {
          for (i[3] = 0; i[3] < v.outer[3]; ++i[3]) RunRow(i);
        }
      }
    }
  }

 private:
  template <typename T>
  T Read(int64_t address) const {
    T value;
    std::memcpy(&value, &memory_.at(static_cast<size_t>(address)), sizeof value);
    return value;
  }

  int8_t Weight(int64_t b, int32_t ky, int32_t kx, int32_t c, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    const int64_t rows = config_.array_rows, columns = config_.array_columns;
    const int64_t base = static_cast<int64_t>(conv.weight_base) + b * conv.weight_batch_stride;
    const int64_t tap = ky * conv.kernel_x + kx;
    if (instruction_.opcode == Opcode::kDepthwise) {
      return Read<int8_t>(base + (n / columns * conv.taps() + tap) * columns + n % columns);
    }
    if (conv.weight_layout == WeightLayout::kStrided) {
      return Read<int8_t>(base + c * conv.weight_row_stride + n * conv.weight_column_stride);
    }
    int64_t tile, row, tiles;
    if (instruction_.tiling.packing == Packing::kTaps) {
      const int64_t entry = tap * conv.channels + c;
      tile = entry / rows;
      row = entry % rows;
      tiles = (int64_t{conv.taps()} * conv.channels + rows - 1) / rows;
    } else {
      tile = c / rows * conv.taps() + tap;
      row = c % rows;
      tiles = (conv.channels + rows - 1) / rows * conv.taps();
    }
    return Read<int8_t>(base + ((n / columns * tiles + tile) * rows + row) * columns + n % columns);
  }

  int8_t Input(int64_t b, int64_t y, int64_t x, int32_t c) const {
    const Convolution& conv = instruction_.convolution;
    if (y < 0 || y >= conv.height || x < 0 || x >= conv.width) return static_cast<int8_t>(conv.pad_code);
    return Read<int8_t>(static_cast<int64_t>(conv.input_base) + b * conv.input_batch_stride +
                        y * conv.input_row_stride + x * conv.input_column_stride + c);
  }

  float FromAccumulator(const Index& i, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    uint32_t sum = 0;
    for (int32_t ky = 0; ky < conv.kernel_y; ++ky) {
      for (int32_t kx = 0; kx < conv.kernel_x; ++kx) {
        const int64_t y = int64_t{i[1]} * conv.stride_y - conv.pad_top + int64_t{ky} * conv.dilation_y;
        const int64_t x = int64_t{i[2]} * conv.stride_x - conv.pad_left + int64_t{kx} * conv.dilation_x;
        if (instruction_.opcode == Opcode::kDepthwise) {
          sum += static_cast<uint32_t>(Input(i[0], y, x, n) * Weight(i[0], ky, kx, 0, n));
        } else {
          for (int32_t c = 0; c < conv.channels; ++c) {
            sum += static_cast<uint32_t>(Input(i[0], y, x, c) * Weight(i[0], ky, kx, c, n));
          }
        }
      }
    }
    const int64_t parameters =
        static_cast<int64_t>(conv.parameters.base) + i[0] * conv.parameter_batch_stride + int64_t{4} * n;
    const int64_t array = int64_t{4} * conv.out_channels;
    return AccumulatorToValue(WrapAccumulator(static_cast<int32_t>(sum), config_.accumulator_bits),
                              Read<int32_t>(parameters), Read<float>(parameters + array),
                              Read<float>(parameters + 2 * array));
  }

  int64_t Address(const Stream& s, const Index& i, int32_t n) const {
    int64_t address = static_cast<int64_t>(s.base) + n * s.element_stride;
    for (size_t k = 0; k < kOuterLoops; ++k) address += i[k] * s.outer_stride[k];
    return address;
  }

  float Operand(int which, const Index& i, int32_t n) const {
    const Stream& s = instruction_.vector.operands.at(static_cast<size_t>(which));
    return LoadValue(s, &memory_.at(static_cast<size_t>(Address(s, i, n))));
  }

  float Pooled(const Index& i, int32_t n) const {
    const Window& w = instruction_.vector.window;
    const Stream& s = instruction_.vector.operands.at(0);
    float value = NeutralOf(w.combine);
    int32_t places = 0;
    for (int32_t ky = 0; ky < w.window_y; ++ky) {
      for (int32_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t y = int64_t{i[1]} * w.stride_y - w.pad_top + int64_t{ky} * w.dilation_y;
        const int64_t x = int64_t{i[2]} * w.stride_x - w.pad_left + int64_t{kx} * w.dilation_x;
        if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
        const int64_t address = static_cast<int64_t>(s.base) + i[0] * s.outer_stride[0] + i[3] * s.outer_stride[3] +
                                y * w.row_stride + x * w.column_stride + n * s.element_stride;
        value = Join(w.combine, value, LoadValue(s, &memory_.at(static_cast<size_t>(address))));
        ++places;
      }
    }
    if (w.average) value *= AverageFactor(w.divide_by_valid ? places : w.window_y * w.window_x);
    return value;
  }

  void RunRow(const Index& i) {
    const VectorProgram& v = instruction_.vector;
    std::array<float, kScalars> scalars{};
    std::vector<float> row_buffer(static_cast<size_t>(v.length));
    for (size_t p = 0; p < v.passes.size(); ++p) {
      const Pass& pass = v.passes[p];
      size_t tree = 1;
      while (tree < static_cast<size_t>(config_.lanes())) tree *= 2;
      std::vector<float> lanes(tree, NeutralOf(pass.reduce));
      for (int32_t n = 0; n < v.length; ++n) {
        std::array<float, kSaved> saved{};
        const auto value_of = [&](Argument a, float immediate) -> float {
          switch (a) {
            case Argument::kNone:
              return 0;
            case Argument::kImmediate:
              return immediate;
            case Argument::kOperand0:
            case Argument::kOperand1:
            case Argument::kOperand2:
              return Operand(static_cast<int>(a) - static_cast<int>(Argument::kOperand0), i, n);
            case Argument::kSaved0:
              return saved[0];
            case Argument::kSaved1:
              return saved[1];
            default:
              return scalars[static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)];
          }
        };
        float value = 0;
        switch (pass.source) {
          case Source::kAccumulator:
            value = FromAccumulator(i, n);
            break;
          case Source::kOperand0:
            value = p == 0 && v.window.combine != Combine::kNone ? Pooled(i, n) : Operand(0, i, n);
            break;
          case Source::kRowBuffer:
            value = row_buffer[static_cast<size_t>(n)];
            break;
          case Source::kConstant:
            value = pass.constant;
            break;
        }
        for (const Stage& stage : pass.stages) {
          value = ApplyStage(stage, value, value_of(stage.a, stage.immediate_a), value_of(stage.b, stage.immediate_b));
          if (stage.op == StageOp::kSave0) saved[0] = value;
          if (stage.op == StageOp::kSave1) saved[1] = value;
        }
        if (pass.reduce != Reduce::kNone) {
          float& lane = lanes[static_cast<size_t>(n % config_.lanes())];
          lane = Join(pass.reduce, lane, value);
        }
        if (pass.to_row_buffer) row_buffer[static_cast<size_t>(n)] = value;
        if (pass.to_memory) {
          StoreValue(v.output.element, v.quantise, value, &memory_.at(static_cast<size_t>(Address(v.output, i, n))));
        }
      }
      if (pass.reduce == Reduce::kNone) continue;
      float scalar = ReduceTree(pass.reduce, lanes);
      for (const Stage& stage : pass.scalar_stages) {
        // A stage that names the register being computed sees what it held before.
        const auto value_of = [&](Argument a, float immediate) {
          return a >= Argument::kScalar0 && a <= Argument::kScalar3
                     ? scalars[static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)]
                     : immediate;
        };
        scalar = ApplyStage(stage, scalar, value_of(stage.a, stage.immediate_a), value_of(stage.b, stage.immediate_b));
      }
      scalars[pass.into] = scalar;
    }
  }

  const Instruction& instruction_;
  const Config& config_;
  std::vector<uint8_t>& memory_;
};

}  // namespace

void RunNaively(const Instruction& instruction, const Config& config, std::vector<uint8_t>& memory) {
  Naive(instruction, config, memory).Run();
}

}  // namespace kiln::systolic
