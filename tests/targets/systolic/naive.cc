#include "tests/targets/systolic/naive.h"

#include <array>
#include <bit>
#include <cstring>

#include "kiln/targets/systolic/simulate/arithmetic.h"

namespace kiln::systolic {
namespace {

using LoopIndex = std::array<int32_t, kOuterLoops>;

class Naive {
 public:
  Naive(const Instruction& instruction, const Config& config, std::vector<uint8_t>& memory)
      : instruction_(instruction), config_(config), numbers_(config), memory_(memory) {}

  void Run() {
    const VectorProgram& v = instruction_.vector;
    LoopIndex i;
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

  const Format& InputFormat() const { return config_.input_format_of(instruction_.precision); }
  const Format& WeightFormat() const { return config_.weight_format_of(instruction_.precision); }

  // A code of `format` at an address.
  uint32_t Code(const Format& format, int64_t address) const {
    (void)memory_.at(static_cast<size_t>(address + format.bytes() - 1));
    return LoadBits(&memory_.at(static_cast<size_t>(address)), format.bytes()) & CodeMask(format);
  }
  float Scale(int64_t address) const {
    return DecodeFloat(config_.scale_format, Code(config_.scale_format, address));
  }

  // The weight tile that holds element (tap, c), and the row in it.
  std::pair<int64_t, int64_t> TileOf(int64_t tap, int32_t c) const {
    const Convolution& conv = instruction_.convolution;
    const int64_t rows = config_.array_rows;
    if (instruction_.tiling.packing == Packing::kTaps) {
      const int64_t entry = tap * conv.channels + c;
      return {entry / rows, entry % rows};
    }
    return {c / rows * conv.taps() + tap, c % rows};
  }
  int64_t RowTiles() const {
    const Convolution& conv = instruction_.convolution;
    const int64_t rows = config_.array_rows;
    if (instruction_.tiling.packing == Packing::kTaps)
      return (int64_t{conv.taps()} * conv.channels + rows - 1) / rows;
    return (conv.channels + rows - 1) / rows * conv.taps();
  }

  // Code number `place` of a packed row at `address`, bit by bit.
  uint32_t PackedCode(int64_t address, int64_t place) const {
    const int bits = instruction_.convolution.weight_bits;
    int64_t code = 0;
    for (int i = 0; i < bits; ++i) {
      const int64_t bit = place * bits + i;
      const int64_t value = int64_t{memory_.at(static_cast<size_t>(address + bit / 8))} >> bit % 8;
      code += (value % 2) * (int64_t{1} << i);
    }
    const bool negative = WeightFormat().is_integer() && code >= int64_t{1} << (bits - 1);
    return static_cast<uint32_t>(negative ? code - (int64_t{1} << bits) : code) &
           CodeMask(WeightFormat());
  }

  uint32_t Weight(int64_t b, int64_t tap, int32_t c, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    const int64_t rows = config_.array_rows, columns = config_.array_columns,
                  bytes = WeightFormat().bytes();
    const int64_t base = static_cast<int64_t>(conv.weight_base) + b * conv.weight_batch_stride;
    int64_t at;
    if (conv.weight_bits > 0) {
      int64_t line = n / columns * conv.taps() + tap;
      if (instruction_.opcode == Opcode::kMatrix) {
        const auto [tile, row] = TileOf(tap, c);
        line = (n / columns * RowTiles() + tile) * rows + row;
      }
      return PackedCode(base + line * ((columns * conv.weight_bits + 7) / 8), n % columns);
    }
    if (instruction_.opcode == Opcode::kDepthwise) {
      at = ((n / columns * conv.taps() + tap) * columns + n % columns) * bytes;
    } else if (conv.weight_layout == WeightLayout::kStrided) {
      at = (tap * conv.channels + c) * conv.weight_row_stride + n * conv.weight_column_stride;
    } else {
      const auto [tile, row] = TileOf(tap, c);
      at = (((n / columns * RowTiles() + tile) * rows + row) * columns + n % columns) * bytes;
    }
    return Code(WeightFormat(), base + at);
  }

  bool Inside(int64_t y, int64_t x) const {
    const Convolution& conv = instruction_.convolution;
    return y >= 0 && y < conv.height && x >= 0 && x < conv.width;
  }
  uint32_t Input(int64_t b, int64_t y, int64_t x, int32_t c) const {
    const Convolution& conv = instruction_.convolution;
    if (!Inside(y, x)) return static_cast<uint32_t>(conv.pad_code) & CodeMask(InputFormat());
    return Code(InputFormat(), static_cast<int64_t>(conv.input_base) + b * conv.input_batch_stride +
                                   y * conv.input_row_stride + x * conv.input_column_stride +
                                   c * InputFormat().bytes());
  }

  // fp32(input scale * weight scale) of the block that holds channel c.
  float BlockScale(const LoopIndex& i, int64_t tap, int32_t c, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    const OperandScales &x = conv.input_scales, &w = conv.weight_scales;
    const int64_t bytes = config_.scale_format.bytes(), columns = config_.array_columns;
    float scale = 1;
    const auto [y, px] = PlaceOf(i, tap);
    if (x.present && Inside(y, px)) {
      scale = Scale(static_cast<int64_t>(x.base) + i[0] * x.batch_stride + y * x.row_stride +
                    px * x.column_stride + c / config_.block_size * bytes);
    }
    if (!w.present) return scale;
    int64_t at = static_cast<int64_t>(w.base) + i[0] * w.batch_stride;
    if (conv.weight_layout == WeightLayout::kStrided) {
      at += n * w.column_stride + c / config_.block_size * bytes;
    } else {
      at += ((n / columns * RowTiles() + TileOf(tap, c).first) * columns + n % columns) * bytes;
    }
    return scale * Scale(at);
  }

  std::pair<int64_t, int64_t> PlaceOf(const LoopIndex& i, int64_t tap) const {
    const Convolution& conv = instruction_.convolution;
    return {int64_t{i[1]} * conv.stride_y - conv.pad_top + tap / conv.kernel_x * conv.dilation_y,
            int64_t{i[2]} * conv.stride_x - conv.pad_left + tap % conv.kernel_x * conv.dilation_x};
  }

  struct Tile {
    std::vector<uint32_t> inputs, weights;
    float scale = 1;
  };
  void Append(const LoopIndex& i, int64_t tap, int32_t c, int32_t n, Tile& tile) const {
    const auto [y, x] = PlaceOf(i, tap);
    const bool depthwise = instruction_.opcode == Opcode::kDepthwise;
    tile.inputs.push_back(Input(i[0], y, x, depthwise ? n : c));
    tile.weights.push_back(Weight(i[0], tap, c, n));
  }
  // The row tiles of one output, in the machine's order.
  std::vector<Tile> TilesOf(const LoopIndex& i, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    std::vector<Tile> tiles;
    if (instruction_.opcode == Opcode::kDepthwise) {
      tiles.emplace_back();
      for (int64_t tap = 0; tap < conv.taps(); ++tap) Append(i, tap, 0, n, tiles.back());
      return tiles;
    }
    const bool packed = instruction_.tiling.packing == Packing::kTaps;
    const int64_t list = packed ? int64_t{conv.taps()} * conv.channels : conv.channels;
    for (int64_t first = 0; first < list; first += config_.array_rows) {
      for (int64_t tap = 0; tap < (packed ? 1 : conv.taps()); ++tap) {
        tiles.emplace_back();
        for (int64_t e = first; e < std::min(list, first + config_.array_rows); ++e) {
          const int64_t t = packed ? e / conv.channels : tap;
          Append(i, t, static_cast<int32_t>(packed ? e % conv.channels : e), n, tiles.back());
        }
        if (!packed) tiles.back().scale = BlockScale(i, tap, static_cast<int32_t>(first), n);
      }
    }
    return tiles;
  }

  // What the user unit `maximum` makes of a window, as an accumulator.
  uint32_t Greatest(const std::vector<Tile>& tiles) const {
    int64_t greatest = INT8_MIN;
    for (const Tile& tile : tiles) {
      for (const uint32_t code : tile.inputs) {
        greatest = std::max(greatest, IntegerOperand(config_.input_format, code));
      }
    }
    return static_cast<uint32_t>(greatest);
  }

  // The depthwise unit's result with rounded sums: each step of depthwise_multipliers taps has a
  // psum, and their total, in the same format, becomes the accumulator.
  static uint32_t SumOfSteps(const MacRule& rule, const Tile& taps, size_t multipliers) {
    MacRule totals = rule;
    totals.accumulation = rule.psum;
    uint32_t total = MacZero(rule.psum);
    for (size_t first = 0; first < taps.inputs.size(); first += multipliers) {
      uint32_t psum = MacZero(rule.psum);
      for (size_t t = first; t < std::min(first + multipliers, taps.inputs.size()); ++t)
        psum = PsumStep(rule, psum, taps.inputs[t], taps.weights[t]);
      total = AccumulationStep(totals, total, psum, 1.0f);
    }
    return MacResult(rule, AccumulationStep(rule, MacZero(rule.accumulation), total, 1.0f));
  }

  uint32_t Reduction(const MacRule& rule, const std::vector<Tile>& tiles) const {
    if (instruction_.user_unit) return Greatest(tiles);
    if (instruction_.opcode == Opcode::kDepthwise && !rule.integer_psum() && !rule.quire)
      return SumOfSteps(rule, tiles[0], static_cast<size_t>(config_.depthwise_multipliers));
    std::vector<MacTile> spans;
    for (const Tile& tile : tiles) spans.push_back({tile.inputs, tile.weights, tile.scale});
    return MultiplyAccumulate(rule, spans);
  }

  float FromAccumulator(const LoopIndex& i, int32_t n) const {
    const Convolution& conv = instruction_.convolution;
    const MacRule rule = RuleOf(AtPrecision(config_, instruction_.precision),
                                conv.input_scales.present || conv.weight_scales.present);
    const uint32_t result = Reduction(rule, TilesOf(i, n));
    const int64_t parameters = static_cast<int64_t>(conv.parameters.base) +
                               i[0] * conv.parameter_batch_stride + int64_t{4} * n;
    const int64_t array = int64_t{4} * conv.out_channels;
    const float scale = Read<float>(parameters + array), bias = Read<float>(parameters + 2 * array);
    if (!rule.integer_result())
      return AccumulatorToValue(numbers_, std::bit_cast<float>(result), scale, bias);
    return AccumulatorToValue(numbers_, static_cast<int32_t>(result), Read<int32_t>(parameters),
                              scale, bias);
  }

  int64_t Address(const Stream& s, const LoopIndex& i, int32_t n) const {
    int64_t address = static_cast<int64_t>(s.base) + n * s.element_stride;
    for (size_t k = 0; k < kOuterLoops; ++k) address += i[k] * s.outer_stride[k];
    return address;
  }

  float Operand(int which, const LoopIndex& i, int32_t n) const {
    const Stream& s = instruction_.vector.operands.at(static_cast<size_t>(which));
    int64_t scale = static_cast<int64_t>(s.blocks.base);
    for (size_t k = 0; k < kOuterLoops; ++k) scale += i[k] * s.blocks.outer_stride[k];
    return Element(s, Address(s, i, n), scale, n);
  }

  // An element with its block's scale, when it has one; `scales` is where the row's scales begin.
  float Element(const Stream& s, int64_t address, int64_t scales, int32_t n) const {
    (void)memory_.at(static_cast<size_t>(address + BytesOf(s.element, config_) - 1));
    const uint8_t* at = &memory_.at(static_cast<size_t>(address));
    if (!s.blocks.present) return LoadValue(numbers_, s, at);
    const int64_t block = n / config_.block_size * config_.scale_format.bytes();
    return LoadValue(numbers_, s, numbers_.RoundFactor(s.scale * Scale(scales + block)), at);
  }

  float Pooled(const LoopIndex& i, int32_t n) const {
    const Window& w = instruction_.vector.window;
    const Stream& s = instruction_.vector.operands.at(0);
    float value = NeutralOf(numbers_, w.combine);
    int32_t places = 0;
    for (int32_t ky = 0; ky < w.window_y; ++ky) {
      for (int32_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t y = int64_t{i[1]} * w.stride_y - w.pad_top + int64_t{ky} * w.dilation_y;
        const int64_t x = int64_t{i[2]} * w.stride_x - w.pad_left + int64_t{kx} * w.dilation_x;
        if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
        const int64_t address = static_cast<int64_t>(s.base) + i[0] * s.outer_stride[0] +
                                i[3] * s.outer_stride[3] + y * w.row_stride + x * w.column_stride +
                                n * s.element_stride;
        const BlockScales& blocks = s.blocks;
        const int64_t scales = static_cast<int64_t>(blocks.base) + i[0] * blocks.outer_stride[0] +
                               i[3] * blocks.outer_stride[3] + y * blocks.row_stride +
                               x * blocks.column_stride;
        value = Join(numbers_, w.combine, value, Element(s, address, scales, n));
        ++places;
      }
    }
    if (w.average) {
      value = numbers_.Round(value * AverageFactor(numbers_, w, places));
    }
    return value;
  }

  void Store(const LoopIndex& i, int32_t n, float value) {
    const VectorProgram& v = instruction_.vector;
    if (!v.output.blocks.present) {
      StoreValue(numbers_, v.output.element, v.quantise, value,
                 &memory_.at(static_cast<size_t>(Address(v.output, i, n))));
      return;
    }
    block_.push_back(value);
    if ((n + 1) % config_.block_size != 0 && n + 1 != v.length) return;
    const int32_t first = n + 1 - static_cast<int32_t>(block_.size());
    int64_t scales = static_cast<int64_t>(v.output.blocks.base);
    for (size_t k = 0; k < kOuterLoops; ++k) scales += i[k] * v.output.blocks.outer_stride[k];
    scales += first / config_.block_size * config_.scale_format.bytes();
    numbers_.blocks().Encode(block_.data(), 1, std::ssize(block_),
                             &memory_.at(static_cast<size_t>(Address(v.output, i, first))),
                             &memory_.at(static_cast<size_t>(scales)));
    block_.clear();
  }

  void RunRow(const LoopIndex& i) {
    const VectorProgram& v = instruction_.vector;
    std::array<float, kScalars> scalars{};
    std::vector<float> row_buffer(static_cast<size_t>(v.length));
    for (size_t p = 0; p < v.passes.size(); ++p) {
      const Pass& pass = v.passes[p];
      size_t tree = 1;
      while (tree < static_cast<size_t>(config_.lanes())) tree *= 2;
      std::vector<float> lanes(tree, NeutralOf(numbers_, pass.reduce));
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
            value = numbers_.Round(pass.constant);
            break;
        }
        for (const Stage& stage : pass.stages) {
          value = ApplyStage(numbers_, stage, value, value_of(stage.a, stage.immediate_a),
                             value_of(stage.b, stage.immediate_b));
          if (stage.op == StageOp::kSave0) saved[0] = value;
          if (stage.op == StageOp::kSave1) saved[1] = value;
        }
        if (pass.reduce != Reduce::kNone) {
          float& lane = lanes[static_cast<size_t>(n % config_.lanes())];
          lane = Join(numbers_, pass.reduce, lane, value);
        }
        if (pass.to_row_buffer) row_buffer[static_cast<size_t>(n)] = value;
        if (pass.to_memory) {
          Store(i, n, value);
        }
      }
      if (pass.reduce == Reduce::kNone) continue;
      for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; ++lane) {
          lanes[lane] = Join(numbers_, pass.reduce, lanes[lane], lanes[lane + half]);
        }
      }
      float scalar = lanes[0];
      for (const Stage& stage : pass.scalar_stages) {
        // A stage that names the register being computed sees what it held before.
        const auto value_of = [&](Argument a, float immediate) {
          return a >= Argument::kScalar0 && a <= Argument::kScalar3
                     ? scalars[static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)]
                     : immediate;
        };
        scalar = ApplyStage(numbers_, stage, scalar, value_of(stage.a, stage.immediate_a),
                            value_of(stage.b, stage.immediate_b));
      }
      scalars[pass.into] = scalar;
    }
  }

  const Instruction& instruction_;
  const Config& config_;
  const Numbers numbers_;
  std::vector<uint8_t>& memory_;
  std::vector<float> block_;  // of the output, so far
};

}  // namespace

void RunNaively(const Instruction& instruction, const Config& config,
                std::vector<uint8_t>& memory) {
  Naive(instruction, config, memory).Run();
}

}  // namespace kiln::systolic
