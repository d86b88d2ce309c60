// Compares the stages without a window with models of docs/dataflow-machine.md: every handshake and
// every word in every cycle, with and without stalls on all channels, over several images.
#include <functional>
#include <map>
#include <memory>

#include "Vstreams_bench.h"
#include "tests/rtl/dataflow/ports.h"
#include "tests/rtl/dataflow/words.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kPorts = 3, kDataBytes = 8;

// What a stage sees at the start of a cycle.
struct Inputs {
  std::vector<const Word*> words;  // the oldest word of each input, or null
  std::vector<bool> room;
};
// The codes of a port: `lanes` codes of `bits` bits.
struct Format {
  size_t lanes;
  int bits;
  bool is_signed = false;
};

// A stage in C++. Act() says what it does in a cycle: which inputs it pops, and the words that it
// reserves now and pushes `latency` cycles later.
class Model {
 public:
  struct Action {
    std::vector<bool> pop;
    std::map<size_t, Word> results;  // by output
  };
  Model(std::vector<Format> in, std::vector<Format> out, int64_t latency)
      : in_(std::move(in)), out_(std::move(out)), latency_(latency) {}
  virtual ~Model() = default;
  const std::vector<Format>& in() const { return in_; }
  const std::vector<Format>& out() const { return out_; }
  int64_t latency() const { return latency_; }
  virtual Action Act(const Inputs& inputs) = 0;

 private:
  std::vector<Format> in_, out_;
  int64_t latency_;
};

class Fork : public Model {
 public:
  Fork() : Model({{1, 7}}, {{1, 7}, {1, 7}, {1, 7}}, 0) {}
  Action Act(const Inputs& inputs) override {
    if (inputs.words[0] == nullptr || !(inputs.room[0] && inputs.room[1] && inputs.room[2])) {
      return {{false}, {}};
    }
    return {{true}, {{0, *inputs.words[0]}, {1, *inputs.words[0]}, {2, *inputs.words[0]}}};
  }
};

class Concat : public Model {
 public:
  Concat() : Model({{1, 9}, {1, 9}, {1, 9}}, {{1, 9}}, 0) {}
  Action Act(const Inputs& inputs) override {
    const size_t from = kOrder[place_];
    Action action = {{false, false, false}, {}};
    if (inputs.words[from] != nullptr && inputs.room[0]) {
      action.pop[from] = true;
      action.results[0] = *inputs.words[from];
      place_ = (place_ + 1) % kOrder.size();
    }
    return action;
  }

 private:
  const std::vector<size_t> kOrder = {0, 0, 1, 2, 2, 2};  // the inputs of a pixel's words
  size_t place_ = 0;
};

class Widen : public Model {
 public:
  Widen(int bits, size_t factor) : Model({{1, bits}}, {{factor, bits}}, 0), factor_(factor) {}
  Action Act(const Inputs& inputs) override {
    const bool last = held_.size() + 1 == factor_;
    if (inputs.words[0] == nullptr || (last && !inputs.room[0])) {
      return {{false}, {}};
    }
    held_.push_back((*inputs.words[0])[0]);
    return last ? Action{{true}, {{0, std::exchange(held_, {})}}} : Action{{true}, {}};
  }

 private:
  size_t factor_;
  Word held_;
};

class Narrow : public Model {
 public:
  Narrow(int bits, size_t factor) : Model({{factor, bits}}, {{1, bits}}, 0), factor_(factor) {}
  Action Act(const Inputs& inputs) override {
    if (inputs.words[0] == nullptr || !inputs.room[0]) {
      return {{false}, {}};
    }
    const Word part = {(*inputs.words[0])[part_]};
    part_ = (part_ + 1) % factor_;
    return {{part_ == 0}, {{0, part}}};
  }

 private:
  size_t factor_, part_ = 0;
};

// Keeps the first `keep` of the `words` words of each pixel.
class Crop : public Model {
 public:
  Crop(int bits, size_t words, size_t keep)
      : Model({{1, bits}}, {{1, bits}}, 0), words_(words), keep_(keep) {}
  Action Act(const Inputs& inputs) override {
    const bool kept = place_ < keep_;
    if (inputs.words[0] == nullptr || (kept && !inputs.room[0])) return {{false}, {}};
    place_ = (place_ + 1) % words_;
    return kept ? Action{{true}, {{0, *inputs.words[0]}}} : Action{{true}, {}};
  }

 private:
  size_t words_, keep_, place_ = 0;
};

struct Padding {
  int64_t h, w, cg, top, bottom, left, right, front, back;
};

class Pad : public Model {
 public:
  Pad(Format format, int64_t value, const Padding& p)
      : Model({format}, {format}, 0), value_(value) {
    for (int64_t y = -p.top; y < p.h + p.bottom; ++y) {
      for (int64_t x = -p.left; x < p.w + p.right; ++x) {
        for (int64_t word = -p.front; word < p.cg + p.back; ++word) {
          inside_.push_back(y >= 0 && y < p.h && x >= 0 && x < p.w && word >= 0 && word < p.cg);
        }
      }
    }
  }
  Action Act(const Inputs& inputs) override {
    const auto first =
        static_cast<size_t>(std::find(inside_.begin(), inside_.end(), true) - inside_.begin());
    if (!inputs.room[0] || ((inside_[place_] || place_ < first) && inputs.words[0] == nullptr)) {
      return {{false}, {}};
    }
    const bool inside = inside_[place_];
    place_ = (place_ + 1) % inside_.size();
    return {{inside}, {{0, inside ? *inputs.words[0] : Word(in()[0].lanes, value_)}}};
  }

 private:
  int64_t value_;
  std::vector<bool> inside_;  // word by word of the padded map
  size_t place_ = 0;
};

// Applies a function to the codes of all inputs, lane by lane.
class Elementwise : public Model {
 public:
  using Function = std::function<int64_t(int64_t, int64_t)>;
  Elementwise(std::vector<Format> in, Format out, int64_t latency, Function function)
      : Model(std::move(in), {out}, latency), function_(std::move(function)) {}
  Action Act(const Inputs& inputs) override {
    const bool all = std::all_of(inputs.words.begin(), inputs.words.end(),
                                 [](const Word* word) { return word != nullptr; });
    if (!all || !inputs.room[0]) {
      return {std::vector<bool>(in().size()), {}};
    }
    Word result;
    for (size_t l = 0; l < in()[0].lanes; ++l) {
      result.push_back(
          function_((*inputs.words[0])[l], in().size() > 1 ? (*inputs.words[1])[l] : 0));
    }
    return {std::vector<bool>(in().size(), true), {{0, result}}};
  }

 private:
  Function function_;
};

Elementwise::Function Affine(int64_t m0, int64_t m1, int64_t c, int shift, int64_t low,
                             int64_t high) {
  return [=](int64_t x0, int64_t x1) {
    return std::clamp((x0 * m0 + x1 * m1 + c) >> shift, low, high);
  };
}

class Rearrange : public Model {
 public:
  Rearrange(int64_t w, int64_t cg, int64_t fy, int64_t fx, bool space)
      : Model({{1, 8}}, {{1, 8}}, 1), w_(w), cg_(cg) {
    const int64_t part = space ? cg / (fy * fx) : cg;
    for (int64_t y = 0; y < fy; ++y) {
      for (int64_t x = 0; x < w; ++x) {
        for (int64_t block_x = 0; block_x < fx; ++block_x) {
          for (int64_t word = 0; word < part; ++word) {
            order_.push_back(x * cg + (space ? (y * fx + block_x) * part : 0) + word);
          }
        }
      }
    }
  }
  Action Act(const Inputs& inputs) override {
    Action action = {{false}, {}};
    const int64_t row_words = w_ * cg_;
    const auto written = static_cast<int64_t>(words_.size());
    const int64_t row = row_;
    const int64_t word = row * row_words + order_[place_];
    if (inputs.room[0] && word < written) {
      action.results[0] = words_[static_cast<size_t>(word)];
      if (++place_ == order_.size()) {
        place_ = 0;
        ++row_;
      }
    }
    if (inputs.words[0] != nullptr && written / row_words <= row + 1) {
      action.pop[0] = true;
      words_.push_back(*inputs.words[0]);
    }
    return action;
  }

 private:
  int64_t w_, cg_;
  std::vector<int64_t> order_;  // of the words of a row of the input
  std::vector<Word> words_;     // all that were popped
  int64_t row_ = 0;
  size_t place_ = 0;
};

class GlobalSum : public Model {
 public:
  using Function = std::function<int64_t(int64_t sum, size_t channel)>;
  GlobalSum(Format in, Format out, size_t pixels, size_t cg, int64_t latency, Function code)
      : Model({in}, {out}, latency), pixels_(pixels), cg_(cg), code_(std::move(code)) {
    sums_.resize(cg * in.lanes);
  }
  Action Act(const Inputs& inputs) override {
    const bool last = word_ / cg_ == pixels_ - 1;
    if (inputs.words[0] == nullptr || (last && !inputs.room[0])) {
      return {{false}, {}};
    }
    const size_t lanes = in()[0].lanes, first = word_ % cg_ * lanes;
    Word result;
    for (size_t l = 0; l < lanes; ++l) {
      int64_t& sum = sums_[first + l];
      sum = (word_ < cg_ ? 0 : sum) + (*inputs.words[0])[l];
      if (last) result.push_back(code_(sum, first + l));
    }
    word_ = (word_ + 1) % (pixels_ * cg_);
    return last ? Action{{true}, {{0, result}}} : Action{{true}, {}};
  }

 private:
  size_t pixels_, cg_;
  Function code_;
  std::vector<int64_t> sums_;
  size_t word_ = 0;  // of the image
};

// The stages of the bench, in order. Writes their files.
std::vector<std::unique_ptr<Model>> MakeModels() {
  Random random(12);
  std::vector<int64_t> table(32), m(3), c(3);
  std::vector<std::vector<int64_t>> thresholds(2);
  std::vector<std::vector<uint8_t>> table_file, scale_file;
  for (int64_t& code : table) {
    code = RandomCode(random, 7, false);
    table_file.push_back(Pack({code}, 7));
  }
  WriteHex("table5.hex", table_file);
  for (size_t i = 0; i < 3; ++i) {
    m[i] = random.Between(0, 0x1ffff);
    c[i] = random.Between(-(1 << 24), 1 << 24);
    Word bits;
    for (int k = 0; k < 17; ++k) bits.push_back(m[i] >> k & 1);
    for (int k = 0; k < 40; ++k) bits.push_back(c[i] >> k & 1);
    scale_file.push_back(Pack(bits, 1));
  }
  WriteHex("sum1", scale_file);
  for (auto& channel : thresholds) {
    for (int i = 0; i < 7; ++i) channel.push_back(random.Between(-9, 9));
    std::sort(channel.begin(), channel.end());
  }
  for (size_t level = 0; level < 3; ++level) {
    std::vector<std::vector<uint8_t>> file;
    for (const auto& channel : thresholds) {
      for (size_t prefix = 0; prefix < size_t{1} << level; ++prefix) {
        file.push_back(Pack({channel[((2 * prefix + 1) << (2 - level)) - 1]}, 7));
      }
    }
    WriteHex("sum2_" + std::to_string(level) + "_000.hex", file);
  }

  std::vector<std::unique_ptr<Model>> models;
  models.push_back(std::make_unique<Fork>());
  models.push_back(std::make_unique<Concat>());
  models.push_back(std::make_unique<Widen>(5, 2));
  models.push_back(std::make_unique<Widen>(8, 5));
  models.push_back(std::make_unique<Narrow>(6, 2));
  models.push_back(std::make_unique<Narrow>(8, 3));
  models.push_back(
      std::make_unique<Pad>(Format{2, 6, true}, -5, Padding{3, 2, 2, 2, 1, 0, 3, 1, 2}));
  models.push_back(std::make_unique<Pad>(Format{1, 4}, 9, Padding{1, 1, 1, 0, 0, 2, 0, 0, 0}));
  const auto look_up = [table](int64_t x, int64_t) { return table[static_cast<size_t>(x)]; };
  models.push_back(
      std::make_unique<Elementwise>(std::vector<Format>{{3, 5}}, Format{3, 7}, 1, look_up));
  models.push_back(std::make_unique<Elementwise>(std::vector<Format>{{2, 8}}, Format{2, 8}, 5,
                                                 Affine(-1234, 0, 200000, 11, -100, 120)));
  models.push_back(std::make_unique<Elementwise>(std::vector<Format>{{1, 16, true}, {1, 5}},
                                                 Format{1, 16}, 5,
                                                 Affine(131071, -131072, -7000000, 17, 0, 65535)));
  models.push_back(std::make_unique<Elementwise>(std::vector<Format>{{1, 3, true}, {1, 3, true}},
                                                 Format{1, 5}, 5, Affine(1, 1, 0, 0, -16, 15)));
  models.push_back(std::make_unique<Rearrange>(3, 2, 2, 2, false));
  models.push_back(std::make_unique<Rearrange>(4, 1, 1, 3, false));
  models.push_back(std::make_unique<Rearrange>(3, 4, 2, 2, true));
  models.push_back(std::make_unique<Rearrange>(2, 12, 3, 2, true));
  models.push_back(std::make_unique<Rearrange>(1, 1, 2, 1, false));
  models.push_back(std::make_unique<GlobalSum>(Format{2, 8, true}, Format{2, 16}, 6, 1, 3,
                                               [](int64_t sum, size_t) { return sum; }));
  models.push_back(std::make_unique<GlobalSum>(
      Format{1, 6}, Format{1, 8}, 4, 3, 6, [m, c](int64_t sum, size_t channel) {
        return std::clamp<int64_t>((sum * m[channel] + c[channel]) >> 18, -128, 127);
      }));
  models.push_back(std::make_unique<GlobalSum>(
      Format{1, 4, true}, Format{1, 3}, 1, 2, 9, [thresholds](int64_t sum, size_t channel) {
        const auto& t = thresholds[channel];
        return -4 + std::count_if(t.begin(), t.end(), [&](int64_t one) { return sum >= one; });
      }));
  models.push_back(std::make_unique<Crop>(7, 5, 3));
  return models;
}

struct Stage {
  std::unique_ptr<Model> model;
  std::vector<ChannelModel> in, out;
  std::vector<Stalls> in_stalls, out_stalls;
  Random random;
  std::map<int64_t, std::map<size_t, Word>> pushes;  // by cycle and output
  size_t words = 0;
};

void AgreeInEveryCycle(double in_stall, double out_stall, uint64_t seed) {
  std::vector<Stage> stages;
  for (auto& model : MakeModels()) {
    Random random(seed * 100 + stages.size());
    Stage stage{std::move(model), {}, {}, {}, {}, Random(random()), {}, 0};
    for (size_t k = 0; k < stage.model->in().size(); ++k) {
      stage.in.emplace_back(1 + random.Below(4), 1);
      stage.in_stalls.emplace_back(random(), in_stall, Stalls::Kind::kBursts);
    }
    for (size_t k = 0; k < stage.model->out().size(); ++k) {
      stage.out.emplace_back(1 + random.Below(8), 1);
      stage.out_stalls.emplace_back(random(), out_stall, Stalls::Kind::kBursts);
    }
    stages.push_back(std::move(stage));
  }
  Simulation<Vstreams_bench> bench(seed);
  bench->in_valid = 0;
  bench->out_room = 0;
  bench.Reset();
  for (int64_t cycle = 0; cycle < 4000; ++cycle) {
    for (size_t i = 0; i < stages.size(); ++i) {
      Stage& s = stages[i];
      for (size_t k = 0; k < s.in.size(); ++k) {
        const Format& format = s.model->in()[k];
        const size_t slot = i * kPorts + k;
        SetBit(bench->in_valid, slot, s.in[k].Valid());
        SetSlot(bench->in_data, slot, kDataBytes,
                Pack(s.in[k].Valid() ? s.in[k].Front()
                                     : RandomWord(s.random, format.lanes, format.bits, true),
                     format.bits));
      }
      for (size_t k = 0; k < s.out.size(); ++k) {
        SetBit(bench->out_room, i * kPorts + k, s.out[k].Room());
      }
    }
    bench.Settle();
    for (size_t i = 0; i < stages.size(); ++i) {
      Stage& s = stages[i];
      Inputs inputs;
      for (const ChannelModel& in : s.in)
        inputs.words.push_back(in.Valid() ? &in.Front() : nullptr);
      for (const ChannelModel& out : s.out) inputs.room.push_back(out.Room());
      Model::Action action = s.model->Act(inputs);
      s.pushes[cycle + s.model->latency()] = action.results;
      const std::map<size_t, Word> pushed = std::exchange(s.pushes[cycle], {});
      s.pushes.erase(cycle);
      for (size_t k = 0; k < s.in.size(); ++k) {
        ASSERT_EQ(GetBit(bench->in_pop, i * kPorts + k), action.pop[k])
            << "stage " << i << ", input " << k << ", cycle " << cycle;
      }
      for (size_t k = 0; k < s.out.size(); ++k) {
        const size_t slot = i * kPorts + k;
        const auto push = pushed.find(k);
        ASSERT_EQ(GetBit(bench->out_reserve, slot), action.results.count(k) != 0)
            << "stage " << i << ", output " << k << ", cycle " << cycle;
        ASSERT_EQ(GetBit(bench->out_push, slot), push != pushed.end())
            << "stage " << i << ", output " << k << ", cycle " << cycle;
        if (push != pushed.end()) {
          std::vector<uint8_t> bytes = Pack(push->second, s.model->out()[k].bits);
          bytes.resize(kDataBytes);
          ASSERT_EQ(GetSlot(bench->out_data, slot, kDataBytes), bytes)
              << "stage " << i << ", output " << k << ", cycle " << cycle << ": "
              << ::testing::PrintToString(push->second);
          ++s.words;
        }
      }

      // The other ends of the channels.
      for (size_t k = 0; k < s.in.size(); ++k) {
        const Format& format = s.model->in()[k];
        if (s.in[k].Room() && !s.in_stalls[k].Next()) {
          s.in[k].Reserve();
          s.in[k].Push(RandomWord(s.random, format.lanes, format.bits, format.is_signed));
        }
        if (action.pop[k]) s.in[k].Pop();
        s.in[k].EndCycle();
      }
      for (size_t k = 0; k < s.out.size(); ++k) {
        if (s.out[k].Valid() && !s.out_stalls[k].Next()) s.out[k].Pop();
        if (action.results.count(k) != 0) s.out[k].Reserve();
        if (const auto push = pushed.find(k); push != pushed.end()) s.out[k].Push(push->second);
        s.out[k].EndCycle();
      }
    }
    bench.Step();
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    EXPECT_GT(stages[i].words, 50u) << "stage " << i;
  }
}

TEST(Streams, AgreeWithTheDocumentInEveryCycle) {
  const ConstantsFolder folder;
  AgreeInEveryCycle(0, 0, 1);
  AgreeInEveryCycle(0.5, 0.5, 2);
  AgreeInEveryCycle(0.7, 0, 3);
  AgreeInEveryCycle(0, 0.7, 4);
  AgreeInEveryCycle(0.1, 0.1, 5);
}

}  // namespace
}  // namespace kiln::rtl
