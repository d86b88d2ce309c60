// A reference of the stages with a window, cycle by cycle, written from docs/dataflow-machine.md
// without looking at the RTL: naive loops for values, explicit positions for time.
#ifndef KILN_TESTS_RTL_DATAFLOW_STAGE_MODEL_H_
#define KILN_TESTS_RTL_DATAFLOW_STAGE_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/rtl/dataflow/words.h"

namespace kiln::rtl {

// The parameters of a stage as the benches report them: numbers of 32 bits in this order.
enum Parameter {
  kKind,  // 0 convolution, 1 depthwise, 2 maximum pool
  kH,
  kW,
  kOH,
  kOW,
  kKY,
  kKX,
  kSY,
  kSX,
  kPT,
  kPL,
  kDY,
  kDX,
  kG,
  kOG,
  kIG,
  kLanes,
  kOutputs,
  kResultLanes,
  kInBits,
  kInSigned,
  kPadValue,
  kWeightBits,
  kPack,
  kStreamed,
  kWay,
  kOutBits,
  kCBits,
  kShift,
  kLow,
  kHigh,
  kLevels,
  kThresholdBits,
  kExtraRows,
  kParameters
};

struct StageParameters {
  std::vector<int64_t> values = std::vector<int64_t>(kParameters);
  int64_t operator[](Parameter p) const { return values[static_cast<size_t>(p)]; }

  int64_t CG() const { return (*this)[kG] * (*this)[kIG]; }
  int64_t Taps() const { return (*this)[kKY] * (*this)[kKX]; }
  int64_t ResultWords() const { return (*this)[kOutputs] / (*this)[kResultLanes]; }
  int64_t OutChannels() const { return (*this)[kG] * (*this)[kOG] * (*this)[kOutputs]; }
  bool Pointwise() const { return Taps() == 1; }
  bool EveryWord() const { return (*this)[kKind] != 0; }
  // Lanes of a word of the result, and codes of a weight word.
  int64_t OutLanes() const { return (*this)[kKind] == 0 ? (*this)[kResultLanes] : (*this)[kLanes]; }
  int64_t WeightCodes() const {
    return Taps() * (*this)[kLanes] * ((*this)[kKind] == 0 ? (*this)[kOutputs] : 1);
  }
  int64_t WeightWords() const { return (*this)[kG] * (*this)[kOG] * (*this)[kIG]; }
  // Channels that have requantisation constants, in the order of results.
  int64_t ConstantChannels() const {
    return (*this)[kKind] == 0 ? OutChannels() : CG() * (*this)[kLanes];
  }

  static int64_t LevelsOf(int64_t terms) {
    int64_t levels = 0;
    while ((int64_t{1} << levels) < terms) ++levels;
    return levels;
  }
  // D: cycles from the step that reserves to the push of the first word.
  int64_t Latency() const {
    if ((*this)[kKind] == 2) {
      return 2 + LevelsOf(Taps());
    }
    const int64_t way = (*this)[kWay] == 1 ? 3 : (*this)[kWay] == 2 ? 2 * (*this)[kLevels] : 0;
    return (*this)[kKind] == 0
               ? 5 + LevelsOf(Taps() * (*this)[kLanes]) + ((*this)[kPack] > 1 ? 1 : 0) + way
               : 4 + LevelsOf(Taps()) + way;
  }
  // Cycles of a frame: at least these, and exactly these if the output has a row for each row of
  // the input.
  int64_t FrameCycles() const {
    const auto& p = *this;
    const int64_t steps = p[kOH] * p[kOW] * p[kG] * p[kOG] * p[kIG];
    if (Pointwise()) {
      return steps + (p[kH] * p[kW] - p[kOH] * p[kOW]) * CG();
    }
    const int64_t insertions =
        (p[kKX] - 1) * p[kDX] - p[kPL] + 1 + (p[kOH] - 1) * p[kW] + (p[kOW] - 1) * p[kSX];
    return std::max((insertions - p[kOH] * p[kOW]) * CG() + steps, p[kH] * p[kW] * CG());
  }
};

// Constants of requantisation per channel, and the arithmetic of the document.
class Requantiser {
 public:
  Requantiser(const StageParameters& p, Random& random) : p_(p) {
    for (int64_t c = 0; c < p.ConstantChannels(); ++c) {
      multipliers_.push_back(random.Below(8) == 0 ? 0x1ffff : random.Between(0, 0x1ffff));
      // A half for rounding, a zero point of a few codes, and a bias; seldom the least or greatest.
      const int64_t one = int64_t{1} << p[kShift];
      const int64_t limit = (int64_t{1} << (p[kCBits] - 1)) - 1;
      const int64_t offset = one / 2 + random.Between(-5, 5) * one + random.Between(-99999, 99999);
      offsets_.push_back(random.Below(16) == 0 ? (random.Below(2) == 0 ? limit : -limit - 1)
                                               : std::clamp(offset, -limit - 1, limit));
      std::vector<int64_t> thresholds;
      const int64_t least = LeastCode(static_cast<int>(p[kThresholdBits]), true);
      const int64_t span = int64_t{1} << random.Between(2, p[kThresholdBits] - 1);
      for (int64_t i = 1; i < int64_t{1} << p[kLevels]; ++i) {
        const int64_t value = random.Between(-span, span - 1);
        thresholds.push_back(random.Below(32) == 0 ? least : std::max(value, least));
      }
      std::sort(thresholds.begin(), thresholds.end());
      thresholds_.push_back(std::move(thresholds));
    }
  }

  // Makes all constants zero.
  void ClearConstants() {
    std::fill(offsets_.begin(), offsets_.end(), 0);
    std::fill(multipliers_.begin(), multipliers_.end(), 0);
    for (std::vector<int64_t>& thresholds : thresholds_) {
      std::fill(thresholds.begin(), thresholds.end(), 0);
    }
  }

  int64_t Code(int64_t sum, int64_t channel) const {
    const auto c = static_cast<size_t>(channel);
    if (p_[kWay] == 0) {
      return sum;
    }
    if (p_[kWay] == 1) {
      const __int128 scaled = static_cast<__int128>(sum) * multipliers_[c] + offsets_[c];
      return static_cast<int64_t>(std::clamp<__int128>(scaled >> p_[kShift], p_[kLow], p_[kHigh]));
    }
    return p_[kLow] + std::count_if(thresholds_[c].begin(), thresholds_[c].end(),
                                    [&](int64_t t) { return sum >= t; });
  }

  // Writes the files that kiln_dataflow_requantise reads: `name` and, for thresholds, what begins
  // with it.
  void WriteFiles(const std::string& name) const {
    const auto lanes = static_cast<size_t>(p_.OutLanes());
    const size_t words = offsets_.size() / lanes;
    if (p_[kWay] == 2) {
      for (size_t level = 0; level < static_cast<size_t>(p_[kLevels]); ++level) {
        for (size_t lane = 0; lane < lanes; ++lane) {
          std::vector<std::vector<uint8_t>> contents;
          for (size_t word = 0; word < words; ++word) {
            for (size_t prefix = 0; prefix < size_t{1} << level; ++prefix) {
              const size_t number = (2 * prefix + 1)
                                    << (static_cast<size_t>(p_[kLevels]) - 1 - level);
              contents.push_back(Pack({thresholds_[word * lanes + lane][number - 1]},
                                      static_cast<int>(p_[kThresholdBits])));
            }
          }
          const std::string digits = std::to_string(1000 + lane).substr(1);
          WriteHex(name + "_" + std::to_string(level) + "_" + digits + ".hex", contents);
        }
      }
      return;
    }
    if (p_[kWay] == 0) {
      return;
    }
    std::vector<std::vector<uint8_t>> contents;
    for (size_t word = 0; word < words; ++word) {
      Word bits;  // bit by bit, because m and c have different widths
      for (size_t lane = 0; lane < lanes; ++lane) {
        for (int64_t i = 0; i < 17; ++i) {
          bits.push_back(multipliers_[word * lanes + lane] >> i & 1);
        }
        for (int64_t i = 0; i < p_[kCBits]; ++i) {
          bits.push_back(offsets_[word * lanes + lane] >> i & 1);
        }
      }
      contents.push_back(Pack(bits, 1));
    }
    WriteHex(name, contents);
  }

 private:
  StageParameters p_;
  std::vector<int64_t> multipliers_, offsets_;
  std::vector<std::vector<int64_t>> thresholds_;
};

// A convolution, depthwise or maximum pool stage. Each call of Cycle() is one cycle.
class StageModel {
 public:
  struct Inputs {
    const Word* word = nullptr;  // the oldest word of the input channel
    const Word* weights = nullptr;
    bool room = false;
  };
  struct Outputs {
    bool pop = false, weights_pop = false, reserve = false, push = false;
    Word data;
    bool operator==(const Outputs&) const = default;
  };

  // `weights`: the words of the weight memory.
  StageModel(const StageParameters& p, Requantiser requantiser, std::vector<Word> weights)
      : p_(p), requantiser_(std::move(requantiser)), weights_(std::move(weights)) {
    if (p.Pointwise()) {
      ListPointwiseSteps();
    } else {
      ListBufferedSteps();
    }
  }

  Outputs Cycle(const Inputs& inputs) {
    Outputs outputs;
    const Step& step = steps_[step_];
    const bool pops_now = p_.Pointwise() ? step.pops : WriterPops();
    const bool completes = step.multiplies && (step.ig == p_[kIG] - 1 || p_.EveryWord());
    const bool weights_wait = step.multiplies && p_[kStreamed] != 0 && inputs.weights == nullptr;
    bool happens = !weights_wait && (!completes || inputs.room);
    if (p_.Pointwise()) {
      happens = happens && (!step.pops || inputs.word != nullptr);
      outputs.pop = happens && step.pops;
    } else {
      happens = happens && (!step.inserts || InsertionReady());
      outputs.pop = pops_now && inputs.word != nullptr;
    }
    outputs.weights_pop = happens && step.multiplies && p_[kStreamed] != 0;
    outputs.reserve = happens && completes;
    if (outputs.pop) {
      words_.push_back(*inputs.word);
    }
    if (happens) {
      if (step.multiplies) {
        Multiply(step, inputs.weights, completes);
      }
      if (step.inserts) {
        AdvanceInserter();
      }
      step_ = (step_ + 1) % steps_.size();
      frame_ += step_ == 0 ? 1 : 0;
    }
    if (const auto due = pushes_.find(cycle_); due != pushes_.end()) {
      outputs.push = true;
      outputs.data = due->second;
      pushes_.erase(due);
    }
    ++cycle_;
    return outputs;
  }

 private:
  struct Step {
    bool inserts, multiplies, pops;
    int64_t oy, ox, g, og, ig;
  };

  void ListMultiplications(int64_t oy, int64_t ox) {
    for (int64_t g = 0; g < p_[kG]; ++g) {
      for (int64_t og = 0; og < p_[kOG]; ++og) {
        for (int64_t ig = 0; ig < p_[kIG]; ++ig) {
          steps_.push_back({!p_.Pointwise() && og == 0, true, og == 0, oy, ox, g, og, ig});
        }
      }
    }
  }
  void ListPointwiseSteps() {
    for (int64_t y = 0; y < p_[kH]; ++y) {
      for (int64_t x = 0; x < p_[kW]; ++x) {
        if (y % p_[kSY] == 0 && x % p_[kSX] == 0 && y / p_[kSY] < p_[kOH] &&
            x / p_[kSX] < p_[kOW]) {
          ListMultiplications(y / p_[kSY], x / p_[kSX]);
        } else {
          for (int64_t cg = 0; cg < p_.CG(); ++cg) {
            steps_.push_back({false, false, true, 0, 0, 0, 0, 0});
          }
        }
      }
    }
  }
  void ListBufferedSteps() {
    for (int64_t oy = 0; oy < p_[kOH]; ++oy) {
      for (int64_t ox = 0; ox < p_[kOW]; ++ox) {
        const int64_t n = oy == 0 && ox == 0 ? (p_[kKX] - 1) * p_[kDX] - p_[kPL] + 1
                          : ox == 0          ? p_[kW] - (p_[kOW] - 1) * p_[kSX]
                                             : p_[kSX];
        for (int64_t i = 0; i < (n - 1) * p_.CG(); ++i) {
          steps_.push_back({true, false, false, 0, 0, 0, 0, 0});
        }
        ListMultiplications(oy, ox);
      }
    }
    insertions_ =
        std::count_if(steps_.begin(), steps_.end(), [](const Step& s) { return s.inserts; });
  }

  // ---- Writer and inserter. Row numbers count over all frames.
  std::tuple<int64_t, int64_t, int64_t> WriterPosition() const {
    const auto n = static_cast<int64_t>(words_.size());
    return {n / (p_[kW] * p_.CG()), n / p_.CG() % p_[kW], n % p_.CG()};
  }
  int64_t NB() const { return Reach() + 1 + p_[kExtraRows]; }
  // From the top row of a row set to its lowest.
  int64_t Reach() const { return (p_[kKY] - 1) * p_[kDY]; }
  bool WriterPops() const {
    const auto [wy, wx, wcg] = WriterPosition();
    const int64_t first = inserter_frame_ * p_[kH];
    const int64_t base = first + std::max<int64_t>(0, i_oy_ * p_[kSY] - p_[kPT]);
    const int64_t next_base = i_oy_ + 1 < p_[kOH]
                                  ? first + std::max<int64_t>(0, (i_oy_ + 1) * p_[kSY] - p_[kPT])
                                  : first + p_[kH];
    return wy < base + NB() ||
           (wy < next_base + NB() && std::pair(wx, wcg) < std::pair(i_col_, i_cg_));
  }
  bool InsertionReady() const {
    if (i_col_ >= p_[kW]) {
      return true;
    }
    const int64_t row =
        inserter_frame_ * p_[kH] + std::min(p_[kH] - 1, i_oy_ * p_[kSY] - p_[kPT] + Reach());
    return WriterPosition() > std::tuple(row, i_col_, i_cg_);
  }
  void AdvanceInserter() {
    if (++inserted_ == insertions_) {
      inserted_ = i_oy_ = i_col_ = i_cg_ = 0;
      ++inserter_frame_;
    } else if (++i_cg_ == p_.CG()) {
      i_cg_ = 0;
      if (++i_col_ == p_[kW] && i_oy_ + 1 < p_[kOH]) {
        i_col_ = 0;
        ++i_oy_;
      }
    }
  }

  // ---- Values.
  int64_t Element(int64_t y, int64_t x, int64_t cg, int64_t lane) const {
    if (y < 0 || y >= p_[kH] || x < 0 || x >= p_[kW]) {
      return p_[kKind] == 2 ? LeastCode(static_cast<int>(p_[kInBits]), p_[kInSigned] != 0)
                            : p_[kPadValue];
    }
    const int64_t number = ((frame_ * p_[kH] + y) * p_[kW] + x) * p_.CG() + cg;
    return words_.at(static_cast<size_t>(number))[static_cast<size_t>(lane)];
  }
  int64_t WindowElement(const Step& s, int64_t ky, int64_t kx, int64_t lane) const {
    return Element(s.oy * p_[kSY] - p_[kPT] + ky * p_[kDY], s.ox * p_[kSX] - p_[kPL] + kx * p_[kDX],
                   s.g * p_[kIG] + s.ig, lane);
  }
  void Multiply(const Step& s, const Word* streamed, bool completes) {
    const auto& weights =
        p_[kStreamed] != 0 ? *streamed
                           : weights_[static_cast<size_t>((s.g * p_[kOG] + s.og) * p_[kIG] + s.ig)];
    if (p_[kKind] == 0) {
      sums_.resize(static_cast<size_t>(p_[kOutputs]));
      if (s.ig == 0) std::fill(sums_.begin(), sums_.end(), 0);
      for (int64_t e = 0; e < p_[kOutputs]; ++e) {
        for (int64_t ky = 0; ky < p_[kKY]; ++ky) {
          for (int64_t kx = 0; kx < p_[kKX]; ++kx) {
            for (int64_t l = 0; l < p_[kLanes]; ++l) {
              const int64_t number = ((e * p_[kKY] + ky) * p_[kKX] + kx) * p_[kLanes] + l;
              sums_[static_cast<size_t>(e)] +=
                  WindowElement(s, ky, kx, l) * weights[static_cast<size_t>(number)];
            }
          }
        }
      }
      if (completes) {
        for (int64_t i = 0; i < p_.ResultWords(); ++i) {
          Word word;
          for (int64_t l = 0; l < p_[kResultLanes]; ++l) {
            const int64_t e = i * p_[kResultLanes] + l;
            word.push_back(requantiser_.Code(sums_[static_cast<size_t>(e)],
                                             (s.g * p_[kOG] + s.og) * p_[kOutputs] + e));
          }
          pushes_[cycle_ + p_.Latency() + i] = std::move(word);
        }
      }
      return;
    }
    Word word;
    for (int64_t l = 0; l < p_[kLanes]; ++l) {
      int64_t sum = 0, greatest = LeastCode(static_cast<int>(p_[kInBits]), p_[kInSigned] != 0);
      for (int64_t ky = 0; ky < p_[kKY]; ++ky) {
        for (int64_t kx = 0; kx < p_[kKX]; ++kx) {
          const int64_t element = WindowElement(s, ky, kx, l);
          greatest = std::max(greatest, element);
          if (p_[kKind] == 1) {
            sum += element * weights[static_cast<size_t>((ky * p_[kKX] + kx) * p_[kLanes] + l)];
          }
        }
      }
      word.push_back(p_[kKind] == 1 ? requantiser_.Code(sum, s.ig * p_[kLanes] + l) : greatest);
    }
    pushes_[cycle_ + p_.Latency()] = std::move(word);
  }

  StageParameters p_;
  Requantiser requantiser_;
  std::vector<Word> weights_;
  std::vector<Step> steps_;  // of a frame
  size_t step_ = 0;
  int64_t frame_ = 0, cycle_ = 0;
  std::vector<Word> words_;  // all that were popped
  int64_t insertions_ = 0, inserted_ = 0;
  int64_t inserter_frame_ = 0, i_oy_ = 0, i_col_ = 0, i_cg_ = 0;
  std::vector<int64_t> sums_;
  std::map<int64_t, Word> pushes_;  // by cycle
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_DATAFLOW_STAGE_MODEL_H_
