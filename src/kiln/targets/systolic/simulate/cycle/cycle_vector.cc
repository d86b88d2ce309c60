// The vector unit of the cycle level: executes isa.h word by word and lane by lane.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"

namespace kiln::systolic {
namespace {

// The state of the vector unit for one instruction.
class VectorUnit {
 public:
  VectorUnit(const VectorProgram& program, const Numbers& numbers, OuterMemory& memory)
      : program_(program),
        numbers_(numbers),
        lanes_(static_cast<size_t>(numbers.config().lanes())),
        memory_(memory),
        values_(lanes_),
        partial_(lanes_) {
    for (auto& saved : saved_) saved.resize(lanes_);
    for (auto& operand : operands_) operand.resize(lanes_);
  }

  // Fetches the words of pass `p`'s memory operands: each operand once for all stages that use it,
  // and a broadcast element once for all lanes, like the operand port (timing.h). WindowAt fetches
  // a window's operand.
  void FetchOperands(size_t p, const OuterIndex& outer, int64_t first, size_t count) {
    for (size_t i = 0; i < program_.operands.size(); ++i) {
      if (!PassReads(program_, p, i) || IsWindowed(p, i)) continue;
      const Stream& stream = program_.operands[i];
      const size_t different = stream.element_stride == 0 ? 1 : count;
      for (size_t lane = 0; lane < different; ++lane) {
        const int64_t index = first + static_cast<int64_t>(lane);
        operands_[i][lane] =
            Load(stream, AddressOf(stream, outer, index), ScaleAddressOf(stream, outer, index));
      }
      if (different < count) std::fill_n(operands_[i].begin(), count, operands_[i][0]);
    }
  }

  // Processes one word: `count` elements from element `first` of row `outer`. values_ already holds
  // the source, and operands_ the operands.
  void Word(const Pass& pass, const OuterIndex& outer, int64_t first, size_t count) {
    for (const Stage& stage : pass.stages) {
      for (size_t lane = 0; lane < count; ++lane) {
        const float a = ArgumentOf(stage.a, stage.immediate_a, lane);
        const float b =
            stage.op == StageOp::kFma ? ArgumentOf(stage.b, stage.immediate_b, lane) : 0.0f;
        values_[lane] = ApplyStage(numbers_, stage, values_[lane], a, b);
        if (stage.op == StageOp::kSave0) saved_[0][lane] = values_[lane];
        if (stage.op == StageOp::kSave1) saved_[1][lane] = values_[lane];
      }
    }
    if (pass.reduce != Reduce::kNone) {
      for (size_t lane = 0; lane < count; ++lane)
        partial_[lane] = Join(numbers_, pass.reduce, partial_[lane], values_[lane]);
    }
    if (pass.to_row_buffer) {
      for (size_t lane = 0; lane < count; ++lane)
        row_[static_cast<size_t>(first) + lane] = values_[lane];
    }
    if (pass.to_memory) {
      const Element element = program_.output.element;
      const uint64_t size = static_cast<uint64_t>(BytesOf(element, numbers_.config()));
      // If all elements of a word have the same address, only the last one is written.
      for (size_t lane = program_.output.element_stride == 0 ? count - 1 : 0; lane < count;
           ++lane) {
        const int64_t index = first + static_cast<int64_t>(lane);
        if (program_.output.blocks.present) {
          Gather(outer, index, values_[lane]);
          continue;
        }
        const uint64_t at = AddressOf(program_.output, outer, index);
        if (uint8_t* bytes = memory_.Write(at, size)) {
          StoreValue(numbers_, element, program_.quantise, values_[lane], bytes);
        }
      }
    }
  }

  // Runs a row of a vector instruction: all its passes.
  void Row(const OuterIndex& outer) {
    row_.assign(static_cast<size_t>(program_.length), 0.0f);
    for (size_t p = 0; p < program_.passes.size(); ++p) {
      const Pass& pass = program_.passes[p];
      std::fill(partial_.begin(), partial_.end(), NeutralOf(numbers_, pass.reduce));
      for (int64_t first = 0; first < program_.length; first += static_cast<int64_t>(lanes_)) {
        const size_t count = static_cast<size_t>(
            std::min<int64_t>(static_cast<int64_t>(lanes_), program_.length - first));
        FetchOperands(p, outer, first, count);
        FetchSource(p, outer, first, count);
        Word(pass, outer, first, count);
      }
      if (pass.reduce != Reduce::kNone) Reduced(pass);
    }
  }

  std::vector<float>& values() { return values_; }
  size_t lanes() const { return lanes_; }

 private:
  // Returns the address of the block scale of element `index` of a stream in a row.
  uint64_t ScaleAddressOf(const Stream& stream, const OuterIndex& outer, int64_t index) const {
    if (!stream.blocks.present) return 0;
    int64_t offset = ScaleOffset(index);
    for (size_t i = 0; i < kOuterLoops; ++i) offset += outer[i] * stream.blocks.outer_stride[i];
    return stream.blocks.base + static_cast<uint64_t>(offset);
  }
  int64_t ScaleOffset(int64_t index) const {
    const Config& config = numbers_.config();
    return index / config.block_size * config.scale_format.bytes();
  }

  float Load(const Stream& stream, uint64_t at, uint64_t scale_at) {
    const Config& config = numbers_.config();
    const uint8_t* bytes = memory_.Read(at, static_cast<uint64_t>(BytesOf(stream.element, config)));
    if (bytes == nullptr) return 0.0f;
    if (!stream.blocks.present) return LoadValue(numbers_, stream, bytes);
    const uint8_t* scale =
        memory_.Peek(scale_at, static_cast<uint64_t>(config.scale_format.bytes()));
    return scale == nullptr
               ? 0.0f
               : LoadValue(numbers_, stream, BlockFactor(numbers_, stream, scale), bytes);
  }

  // The quantiser of block scales: takes the values of a row in order and writes each block when
  // its last value arrives.
  void Gather(const OuterIndex& outer, int64_t index, float value) {
    const BlockCodec& codec = numbers_.blocks();
    block_.push_back(value);
    const int64_t next = index + 1;
    if (next % codec.block_size() != 0 && next != program_.length) return;
    const int64_t first = next - std::ssize(block_);
    const Stream& output = program_.output;
    const uint32_t scale = codec.ScaleCode(block_.data(), std::ssize(block_));
    const int scale_bytes = codec.scale_format().bytes(), element_bytes = codec.element().bytes();
    if (uint8_t* bytes = memory_.Poke(ScaleAddressOf(output, outer, first),
                                      static_cast<uint64_t>(scale_bytes))) {
      StoreBits(scale, scale_bytes, bytes);
    }
    for (size_t i = 0; i < block_.size(); ++i) {
      const uint64_t at = AddressOf(output, outer, first + static_cast<int64_t>(i));
      if (uint8_t* bytes = memory_.Write(at, static_cast<uint64_t>(element_bytes))) {
        const uint32_t code = codec.ElementCode(block_[i], codec.ScaleValue(scale));
        StoreBits(StoredBits(codec.element(), code), element_bytes, bytes);
      }
    }
    block_.clear();
  }

  bool IsWindowed(size_t p, size_t operand) const {
    return p == 0 && operand == 0 && program_.window.combine != Combine::kNone;
  }

  void FetchSource(size_t p, const OuterIndex& outer, int64_t first, size_t count) {
    const Pass& pass = program_.passes[p];
    switch (pass.source) {
      case Source::kOperand0:
        if (IsWindowed(p, 0)) {
          const size_t different = program_.operands[0].element_stride == 0 ? 1 : count;
          for (size_t lane = 0; lane < different; ++lane) {
            values_[lane] = WindowAt(outer, first + static_cast<int64_t>(lane));
          }
          if (different < count) std::fill_n(values_.begin(), count, values_[0]);
        } else {
          std::copy_n(operands_[0].begin(), count, values_.begin());
        }
        break;
      case Source::kRowBuffer:
        std::copy_n(row_.begin() + first, count, values_.begin());
        break;
      case Source::kConstant:
        std::fill_n(values_.begin(), count, numbers_.Round(pass.constant));
        break;
      case Source::kAccumulator:
        break;  // the caller has already stored it in values()
    }
  }

  // Returns operand 0 combined over the positions of its window that are inside the image.
  float WindowAt(const OuterIndex& outer, int64_t index) {
    const Window& w = program_.window;
    const Stream& stream = program_.operands[0];
    float combined = NeutralOf(numbers_, w.combine);
    int32_t places = 0;
    for (int32_t ky = 0; ky < w.window_y; ++ky) {
      const int64_t y = outer[1] * w.stride_y - w.pad_top + int64_t{ky} * w.dilation_y;
      if (y < 0 || y >= w.height) continue;
      for (int32_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t x = outer[2] * w.stride_x - w.pad_left + int64_t{kx} * w.dilation_x;
        if (x < 0 || x >= w.width) continue;
        const int64_t offset = outer[0] * stream.outer_stride[0] +
                               outer[3] * stream.outer_stride[3] + y * w.row_stride +
                               x * w.column_stride + index * stream.element_stride;
        uint64_t scale_at = 0;
        if (stream.blocks.present) {
          const BlockScales& b = stream.blocks;
          scale_at = b.base + static_cast<uint64_t>(
                                  outer[0] * b.outer_stride[0] + outer[3] * b.outer_stride[3] +
                                  y * b.row_stride + x * b.column_stride + ScaleOffset(index));
        }
        const float value = Load(stream, stream.base + static_cast<uint64_t>(offset), scale_at);
        combined = Join(numbers_, w.combine, combined, value);
        ++places;
      }
    }
    if (w.combine == Combine::kSum && w.average) {
      const float factor = AverageFactor(numbers_, w, places);
      combined = numbers_.Round(combined * factor);
    }
    return combined;
  }

  float ArgumentOf(Argument argument, float immediate, size_t lane) const {
    switch (argument) {
      case Argument::kNone:
        return 0.0f;
      case Argument::kImmediate:
        return immediate;
      case Argument::kOperand0:
      case Argument::kOperand1:
      case Argument::kOperand2:
        return operands_[static_cast<size_t>(argument) - static_cast<size_t>(Argument::kOperand0)]
                        [lane];
      case Argument::kScalar0:
      case Argument::kScalar1:
      case Argument::kScalar2:
      case Argument::kScalar3:
        return scalars_[static_cast<size_t>(argument) - static_cast<size_t>(Argument::kScalar0)];
      case Argument::kSaved0:
        return saved_[0][lane];
      case Argument::kSaved1:
        return saved_[1][lane];
    }
    return 0.0f;
  }

  // Combines the lanes `first`, first + step, first + 2 step, ...: a tree of adders whose root
  // joins the even ones with the odd ones.
  float JoinLanes(Reduce reduce, const std::vector<float>& lanes, size_t first, size_t step) const {
    if (step == lanes.size()) return lanes[first];
    return Join(numbers_, reduce, JoinLanes(reduce, lanes, first, 2 * step),
                JoinLanes(reduce, lanes, first + step, 2 * step));
  }

  void Reduced(const Pass& pass) {
    std::vector<float> tree(std::bit_ceil(lanes_), NeutralOf(numbers_, pass.reduce));
    std::copy(partial_.begin(), partial_.end(), tree.begin());
    float scalar = JoinLanes(pass.reduce, tree, 0, 1);
    for (const Stage& stage : pass.scalar_stages) {
      const float a = ArgumentOf(stage.a, stage.immediate_a, 0);
      const float b = stage.op == StageOp::kFma ? ArgumentOf(stage.b, stage.immediate_b, 0) : 0.0f;
      scalar = ApplyStage(numbers_, stage, scalar, a, b);
    }
    scalars_[pass.into] = scalar;
  }

  const VectorProgram& program_;
  const Numbers& numbers_;
  const size_t lanes_;
  OuterMemory& memory_;
  std::vector<float> values_, partial_, row_;
  std::array<std::vector<float>, kSaved> saved_;
  std::array<std::vector<float>, kMaxOperands> operands_;
  std::array<float, kScalars> scalars_{};
  std::vector<float> block_;  // the values of the current block of the output
};

}  // namespace

void DrainBlock(const Instruction& instruction, const Numbers& numbers, const Visit& visit,
                const AccumulationBank& accumulators, const ParameterBank& parameters,
                OuterMemory& memory) {
  const VectorProgram& program = instruction.vector;
  const Config& config = numbers.config();
  VectorUnit unit(program, numbers, memory);
  const size_t lanes = unit.lanes();
  const size_t stride = static_cast<size_t>(ArrayWeights(2, config.array_columns).columns);
  const size_t pixels = static_cast<size_t>(visit.pixels());
  const auto word = [&](int32_t column, size_t pixel) {
    const int32_t tile = visit.first_column + column;
    const size_t count = static_cast<size_t>(ValidColumns(instruction, config, tile));
    const size_t begin = (static_cast<size_t>(column) * pixels + pixel) * stride;
    for (size_t lane = 0; lane < count; ++lane) {
      const size_t at = static_cast<size_t>(column) * lanes + lane;
      const float scale = parameters.scale[at], bias = parameters.bias[at];
      unit.values()[lane] =
          config.accumulation_format.is_integer()
              ? AccumulatorToValue(numbers,
                                   WrapAccumulator(accumulators.sums[begin + lane],
                                                   config.accumulation_format.bits),
                                   parameters.offset[at], scale, bias)
              : AccumulatorToValue(numbers, accumulators.Value(begin + lane), scale, bias);
    }
    const OuterIndex outer{visit.batch, visit.y + static_cast<int64_t>(pixel) / visit.width,
                           visit.x + static_cast<int64_t>(pixel) % visit.width, 0};
    const int64_t first = int64_t{tile} * config.array_columns;
    unit.FetchOperands(0, outer, first, count);
    unit.Word(program.passes[0], outer, first, count);
  };
  // The quantiser of block scales takes the words of a block in order.
  const int32_t together = DrainColumns(program, config);
  for (int32_t column = 0; column < visit.columns; column += together) {
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      for (int32_t c = column; c < std::min(column + together, visit.columns); ++c) word(c, pixel);
    }
  }
}

void RunVectorRows(const Instruction& instruction, const Numbers& numbers, OuterMemory& memory) {
  const VectorProgram& program = instruction.vector;
  VectorUnit unit(program, numbers, memory);
  OuterIndex outer{};
  for (outer[0] = 0; outer[0] < program.outer[0]; ++outer[0]) {
    for (outer[1] = 0; outer[1] < program.outer[1]; ++outer[1]) {
      for (outer[2] = 0; outer[2] < program.outer[2]; ++outer[2]) {
        for (outer[3] = 0; outer[3] < program.outer[3]; ++outer[3]) unit.Row(outer);
      }
    }
  }
}

}  // namespace kiln::systolic
