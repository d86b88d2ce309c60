// The vector unit of the cycle level: word by word, lane by lane, as isa.h tells it.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kiln/targets/systolic/arithmetic.h"
#include "kiln/targets/systolic/cycle_data.h"
#include "kiln/targets/systolic/timing.h"

namespace kiln::systolic {
namespace {

using OuterIndex = std::array<int64_t, kOuterLoops>;

// Address of element `index` of a stream in a row.
uint64_t AddressOf(const Stream& stream, const OuterIndex& outer, int64_t index) {
  int64_t offset = index * stream.element_stride;
  for (size_t i = 0; i < kOuterLoops; ++i) offset += outer[i] * stream.outer_stride[i];
  return stream.base + static_cast<uint64_t>(offset);
}

class VectorUnit {
 public:
  VectorUnit(const VectorProgram& program, const Config& config, OuterMemory& memory)
      : program_(program),
        lanes_(static_cast<size_t>(config.lanes())),
        memory_(memory),
        values_(lanes_),
        partial_(lanes_) {
    for (auto& saved : saved_) saved.resize(lanes_);
    for (auto& operand : operands_) operand.resize(lanes_);
  }

  // Fetches the words of pass `p`'s memory operands, each once for all stages that use it and a broadcast element once
  // for all lanes: what the operand port moves (timing.h, WordCycles). A window's operand is fetched by WindowAt.
  void FetchOperands(size_t p, const OuterIndex& outer, int64_t first, size_t count) {
    for (size_t i = 0; i < program_.operands.size(); ++i) {
      if (!PassReads(program_, p, i) || IsWindowed(p, i)) continue;
      const Stream& stream = program_.operands[i];
      const size_t different = stream.element_stride == 0 ? 1 : count;
      for (size_t lane = 0; lane < different; ++lane) {
        operands_[i][lane] = Load(stream, AddressOf(stream, outer, first + static_cast<int64_t>(lane)));
      }
      if (different < count) std::fill_n(operands_[i].begin(), count, operands_[i][0]);
    }
  }

  // One word: `count` elements from element `first` of row `outer` on; values_ holds the source already, and operands_
  // the operands.
  void Word(const Pass& pass, const OuterIndex& outer, int64_t first, size_t count) {
    for (const Stage& stage : pass.stages) {
      for (size_t lane = 0; lane < count; ++lane) {
        const float a = ArgumentOf(stage.a, stage.immediate_a, lane);
        const float b = stage.op == StageOp::kFma ? ArgumentOf(stage.b, stage.immediate_b, lane) : 0.0f;
        values_[lane] = ApplyStage(stage, values_[lane], a, b);
        if (stage.op == StageOp::kSave0) saved_[0][lane] = values_[lane];
        if (stage.op == StageOp::kSave1) saved_[1][lane] = values_[lane];
      }
    }
    if (pass.reduce != Reduce::kNone) {
      for (size_t lane = 0; lane < count; ++lane) partial_[lane] = Join(pass.reduce, partial_[lane], values_[lane]);
    }
    if (pass.to_row_buffer) {
      for (size_t lane = 0; lane < count; ++lane) row_[static_cast<size_t>(first) + lane] = values_[lane];
    }
    if (pass.to_memory) {
      const Element element = program_.output.element;
      const uint64_t size = static_cast<uint64_t>(BytesOf(element));
      for (size_t lane = 0; lane < count; ++lane) {
        const uint64_t at = AddressOf(program_.output, outer, first + static_cast<int64_t>(lane));
        if (uint8_t* bytes = memory_.Write(at, size)) StoreValue(element, program_.quantise, values_[lane], bytes);
      }
    }
  }

  // A row of a vector instruction: all its passes.
  void Row(const OuterIndex& outer) {
    row_.assign(static_cast<size_t>(program_.length), 0.0f);
    for (size_t p = 0; p < program_.passes.size(); ++p) {
      const Pass& pass = program_.passes[p];
      std::fill(partial_.begin(), partial_.end(), NeutralOf(pass.reduce));
      for (int64_t first = 0; first < program_.length; first += static_cast<int64_t>(lanes_)) {
        const size_t count =
            static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(lanes_), program_.length - first));
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
  float Load(const Stream& stream, uint64_t at) {
    const uint8_t* bytes = memory_.Read(at, static_cast<uint64_t>(BytesOf(stream.element)));
    return bytes == nullptr ? 0.0f : LoadValue(stream, bytes);
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
        std::fill_n(values_.begin(), count, pass.constant);
        break;
      case Source::kAccumulator:
        break;  // the caller has put it into values() already
    }
  }

  // Operand 0 combined over the places of its window that lie inside the image.
  float WindowAt(const OuterIndex& outer, int64_t index) {
    const Window& w = program_.window;
    const Stream& stream = program_.operands[0];
    float combined = NeutralOf(w.combine);
    int32_t places = 0;
    for (int32_t ky = 0; ky < w.window_y; ++ky) {
      const int64_t y = outer[1] * w.stride_y - w.pad_top + int64_t{ky} * w.dilation_y;
      if (y < 0 || y >= w.height) continue;
      for (int32_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t x = outer[2] * w.stride_x - w.pad_left + int64_t{kx} * w.dilation_x;
        if (x < 0 || x >= w.width) continue;
        const int64_t offset = outer[0] * stream.outer_stride[0] + outer[3] * stream.outer_stride[3] +
                               y * w.row_stride + x * w.column_stride + index * stream.element_stride;
        combined = Join(w.combine, combined, Load(stream, stream.base + static_cast<uint64_t>(offset)));
        ++places;
      }
    }
    if (w.combine == Combine::kSum && w.average) {
      combined *= AverageFactor(w.divide_by_valid ? places : w.window_y * w.window_x);
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
        return operands_[static_cast<size_t>(argument) - static_cast<size_t>(Argument::kOperand0)][lane];
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

  void Reduced(const Pass& pass) {
    std::vector<float> tree(std::bit_ceil(lanes_), NeutralOf(pass.reduce));
    std::copy(partial_.begin(), partial_.end(), tree.begin());
    float scalar = ReduceTree(pass.reduce, tree);
    for (const Stage& stage : pass.scalar_stages) {
      const float a = ArgumentOf(stage.a, stage.immediate_a, 0);
      const float b = stage.op == StageOp::kFma ? ArgumentOf(stage.b, stage.immediate_b, 0) : 0.0f;
      scalar = ApplyStage(stage, scalar, a, b);
    }
    scalars_[pass.into] = scalar;
  }

  const VectorProgram& program_;
  const size_t lanes_;
  OuterMemory& memory_;
  std::vector<float> values_, partial_, row_;
  std::array<std::vector<float>, kSaved> saved_;
  std::array<std::vector<float>, kMaxOperands> operands_;
  std::array<float, kScalars> scalars_{};
};

}  // namespace

void DrainBlock(const Instruction& instruction, const Config& config, const Visit& visit,
                const AccumulationBank& accumulators, const ParameterBank& parameters, OuterMemory& memory) {
  const VectorProgram& program = instruction.vector;
  VectorUnit unit(program, config, memory);
  const size_t lanes = unit.lanes();
  const size_t stride = static_cast<size_t>(ArrayWeights(2, config.array_columns).columns);
  const size_t pixels = static_cast<size_t>(visit.pixels());
  for (int32_t column = 0; column < visit.columns; ++column) {
    const int32_t tile = visit.first_column + column;
    const size_t count = static_cast<size_t>(ValidColumns(instruction, config, tile));
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      const int32_t* sums = accumulators.values.data() + (static_cast<size_t>(column) * pixels + pixel) * stride;
      for (size_t lane = 0; lane < count; ++lane) {
        const size_t at = static_cast<size_t>(column) * lanes + lane;
        unit.values()[lane] = AccumulatorToValue(WrapAccumulator(sums[lane], config.accumulator_bits),
                                                 parameters.offset[at], parameters.scale[at], parameters.bias[at]);
      }
      const OuterIndex outer{visit.batch, visit.y + static_cast<int64_t>(pixel) / visit.width,
                             visit.x + static_cast<int64_t>(pixel) % visit.width, 0};
      const int64_t first = int64_t{tile} * config.array_columns;
      unit.FetchOperands(0, outer, first, count);
      unit.Word(program.passes[0], outer, first, count);
    }
  }
}

void RunVectorRows(const Instruction& instruction, const Config& config, OuterMemory& memory) {
  const VectorProgram& program = instruction.vector;
  VectorUnit unit(program, config, memory);
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
