// The timing of all stages but those with windows.

#include <algorithm>
#include <memory>

#include "kiln/support/check.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/links.h"

namespace kiln::dataflow {

Actor::Actor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
    : pipeline_(pipeline),
      stage_(pipeline.stages[static_cast<size_t>(index)]),
      latency_(LatencyOf(pipeline, stage_)),
      links_(links),
      schedule_(schedule) {}

WeightPortActor::WeightPortActor(const Pipeline& pipeline, int index, hardware::MemoryBus* bus,
                                 uint64_t memory, std::vector<Link>* links, Schedule* schedule)
    : Actor(pipeline, index, links, schedule),
      bus_{*bus},
      port_(bus_, stage_.port_bytes, static_cast<size_t>(OutstandingOf(pipeline, stage_))),
      base_(memory + static_cast<uint64_t>(stage_.base_address)) {}

void WeightPortActor::Step(int64_t now) {
  const uint64_t cycle = static_cast<uint64_t>(now) + 1;
  if (port_.next_word() == cycle) {
    port_.TakeWord();
    PushReserved(now);
  }
  const bool ready = port_.ready(cycle);
  if (!HasRoom(now) || !ready) {
    Stalled(now, HasRoom(now) ? "memory" : "room");
    return;
  }
  const Channel& words = pipeline_.output(stage_);
  const auto bytes = static_cast<uint64_t>(BytesOfWeightWord(words));
  out().Reserve(now, 1);
  port_.Request(cycle, base_ + static_cast<uint64_t>(next_word_) * bytes, bytes, 0);
  Busy(now);
  next_word_ = next_word_ + 1 == words.map.width ? 0 : next_word_ + 1;
}

namespace {

class SourceActor final : public Actor {
 public:
  SourceActor(const Pipeline& pipeline, int index, const TimingOptions& options,
              std::vector<Link>* links, Schedule* schedule)
      : Actor(pipeline, index, links, schedule),
        words_(pipeline.output(stage_).words()),
        images_(options.images),
        interval_(options.interval) {}

 protected:
  int64_t Act(int64_t now) override {
    if (sent_ == images_ * words_) return kNever;
    if (now < Offered()) return Offered();
    if (!HasRoom(now)) {
      Stalled(now, "output");
      return kNever;
    }
    Send(now);
    Busy(now);
    ++sent_;
    return sent_ == images_ * words_ ? kNever : std::max(now + 1, Offered());
  }

 private:
  // Returns the cycle from which the next word is offered.
  int64_t Offered() const {
    return sent_ / words_ * interval_ + sent_ % words_ * interval_ / words_;
  }

  const int64_t words_, images_, interval_;
  int64_t sent_ = 0;
};

// Reads the weights of a convolution over a port of its own, as far ahead as its channel has room.
class WeightStreamActor final : public Actor {
 public:
  using Actor::Actor;

 protected:
  int64_t Act(int64_t now) override {
    if (now < free_) return free_;
    if (!HasRoom(now)) {
      Stalled(now, "room");
      return kNever;
    }
    const Channel& words = pipeline_.output(stage_);
    const int64_t beats = BeatsOfWord(stage_, words, next_word_);
    next_word_ = next_word_ + 1 == words.map.width ? 0 : next_word_ + 1;
    SendAt(now, now + beats + stage_.memory_latency + 1);
    Busy(now, beats);
    return free_ = now + beats;
  }

 private:
  int64_t next_word_ = 0;  // of a pass
  int64_t free_ = 0;       // the cycle of the next request
};

// Takes a word of every input that Takes() names and gives one to every output that Gives() names,
// in one cycle.
class WordActor : public Actor {
 public:
  using Actor::Actor;

 protected:
  virtual bool Takes(size_t input) const { return static_cast<void>(input), true; }
  // Returns whether the input must have a word, which need not be taken.
  virtual bool Needs(size_t input) const { return Takes(input); }
  virtual bool Gives() const { return true; }
  virtual void Next() {}

  int64_t Act(int64_t now) final {
    for (size_t i = 0; i < stage_.inputs.size(); ++i) {
      if (Needs(i) && !HasWord(now, i)) {
        Stalled(now, "input");
        return in(i).NextWord();
      }
    }
    for (size_t i = 0; i < stage_.outputs.size(); ++i) {
      if (Gives() && !HasRoom(now, 1, i)) {
        Stalled(now, "output");
        return kNever;
      }
    }
    for (size_t i = 0; i < stage_.inputs.size(); ++i) {
      if (Takes(i)) Pop(now, i);
    }
    for (size_t i = 0; i < stage_.outputs.size(); ++i) {
      if (Gives()) Send(now, 1, i);
    }
    Busy(now);
    Next();
    return now + 1;
  }
};

// Fork, table, affine, sink.
class EveryWordActor final : public WordActor {
 public:
  using WordActor::WordActor;
};

// Takes the words of one pixel from each input in turn.
class ConcatActor final : public WordActor {
 public:
  using WordActor::WordActor;

 protected:
  bool Takes(size_t input) const override { return input == input_; }
  void Next() override {
    if (++word_ < pipeline_.input(stage_, input_).words_per_pixel()) return;
    word_ = 0;
    if (++input_ == stage_.inputs.size()) input_ = 0;
  }

 private:
  size_t input_ = 0;
  int64_t word_ = 0;
};

// Gives the first words of each pixel and drops the others.
class CropActor final : public WordActor {
 public:
  CropActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : WordActor(pipeline, index, links, schedule),
        words_(pipeline.input(stage_).words_per_pixel()),
        kept_(pipeline.output(stage_).words_per_pixel()) {}

 protected:
  bool Gives() const override { return word_ < kept_; }
  void Next() override { word_ = (word_ + 1) % words_; }

 private:
  const int64_t words_, kept_;  // words of a pixel
  int64_t word_ = 0;
};

// Joins consecutive words to one of more lanes, which leaves with its last part.
class WidenActor final : public WordActor {
 public:
  WidenActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : WordActor(pipeline, index, links, schedule),
        parts_(pipeline.output(stage_).lanes / pipeline.input(stage_).lanes) {}

 protected:
  bool Gives() const override { return part_ == parts_ - 1; }
  void Next() override { part_ = (part_ + 1) % parts_; }

 private:
  const int64_t parts_;
  int64_t part_ = 0;
};

// Gives a part of the oldest word, which it takes with the last part.
class NarrowActor final : public Actor {
 public:
  NarrowActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : Actor(pipeline, index, links, schedule),
        parts_(pipeline.input(stage_).lanes / pipeline.output(stage_).lanes) {}

 protected:
  int64_t Act(int64_t now) override {
    if (!HasWord(now)) {
      Stalled(now, "input");
      return in().NextWord();
    }
    if (!HasRoom(now)) {
      Stalled(now, "output");
      return kNever;
    }
    if (part_ == parts_ - 1) Pop(now);
    Send(now);
    Busy(now);
    part_ = (part_ + 1) % parts_;
    return now + 1;
  }

 private:
  const int64_t parts_;
  int64_t part_ = 0;
};

// Gives a word in every step: one that it takes, inside of the map, and a padding word outside.
class PadActor final : public WordActor {
 public:
  PadActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : WordActor(pipeline, index, links, schedule),
        in_(pipeline.input(stage_).map),
        out_(pipeline.output(stage_).map),
        front_(stage_.pad_front / pipeline.input(stage_).lanes),
        words_(pipeline.input(stage_).words_per_pixel()),
        out_words_(pipeline.output(stage_).words_per_pixel()) {}

 protected:
  bool Takes(size_t) const override {
    return word_ >= front_ && word_ < front_ + words_ && y_ >= stage_.pad_top &&
           y_ < stage_.pad_top + in_.height && x_ >= stage_.pad_left &&
           x_ < stage_.pad_left + in_.width;
  }
  // Nothing leaves before an image begins.
  bool Needs(size_t input) const override { return Takes(input) || !begun_; }
  void Next() override {
    begun_ = begun_ || Takes(0);
    if (++word_ < out_words_) return;
    word_ = 0;
    if (++x_ < out_.width) return;
    x_ = 0;
    if (++y_ < out_.height) return;
    y_ = 0;
    begun_ = false;
  }

 private:
  const MapShape in_, out_;
  const int64_t front_, words_, out_words_;  // words of a pixel
  bool begun_ = false;                       // the image's first word has been taken
  int64_t y_ = 0, x_ = 0, word_ = 0;
};

// Words of the last pixel give a result.
class GlobalSumActor final : public WordActor {
 public:
  GlobalSumActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : WordActor(pipeline, index, links, schedule),
        words_(pipeline.input(stage_).words()),
        last_pixel_(words_ - pipeline.input(stage_).words_per_pixel()) {}

 protected:
  bool Gives() const override { return word_ >= last_pixel_; }
  void Next() override { word_ = (word_ + 1) % words_; }

 private:
  const int64_t words_, last_pixel_;
  int64_t word_ = 0;
};

// A writer of rows and a reader of words, both by the state at the start of the cycle.
class RearrangeActor final : public Actor {
 public:
  RearrangeActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : Actor(pipeline, index, links, schedule),
        width_(pipeline.input(stage_).map.width),
        words_(pipeline.input(stage_).words_per_pixel()),
        out_words_(pipeline.output(stage_).words_per_pixel()) {}

 protected:
  int64_t Act(int64_t now) override {
    const bool has_row = write_row_ <= read_row_ + 1, writes = has_row && HasWord(now);
    const bool written =
        write_row_ > read_row_ || (write_row_ == read_row_ && write_word_ > Address());
    const bool reads = written && HasRoom(now);
    if (!written) Stalled(now, "rows");
    if (written && !reads) Stalled(now, "output");
    if (reads) {
      Send(now);
      Busy(now);
      Advance();
    }
    if (writes) {
      Pop(now);
      if (++write_word_ == width_ * words_) {
        write_word_ = 0;
        ++write_row_;
      }
    }
    if (reads || writes) return now + 1;
    return has_row ? in().NextWord() : kNever;
  }

 private:
  int64_t Address() const {
    const int64_t block = stage_.depth_to_space ? (fy_ * stage_.factor_x + fx_) * out_words_ : 0;
    return x_ * words_ + block + word_;
  }
  void Advance() {
    if (++word_ < out_words_) return;
    word_ = 0;
    if (++fx_ < stage_.factor_x) return;
    fx_ = 0;
    if (++x_ < width_) return;
    x_ = 0;
    if (++fy_ < stage_.factor_y) return;
    fy_ = 0;
    ++read_row_;
  }

  const int64_t width_, words_, out_words_;  // words of a pixel
  int64_t write_row_ = 0, write_word_ = 0;
  int64_t read_row_ = 0, fy_ = 0, x_ = 0, fx_ = 0, word_ = 0;
};

}  // namespace

std::unique_ptr<Actor> MakeActor(const Pipeline& pipeline, int index, const TimingOptions& options,
                                 std::vector<Link>* links, Schedule* schedule) {
  switch (pipeline.stages[static_cast<size_t>(index)].kind) {
    case StageKind::kSource:
      return std::make_unique<SourceActor>(pipeline, index, options, links, schedule);
    case StageKind::kWeightStream:
      return std::make_unique<WeightStreamActor>(pipeline, index, links, schedule);
    case StageKind::kConcat:
      return std::make_unique<ConcatActor>(pipeline, index, links, schedule);
    case StageKind::kWiden:
      return std::make_unique<WidenActor>(pipeline, index, links, schedule);
    case StageKind::kNarrow:
      return std::make_unique<NarrowActor>(pipeline, index, links, schedule);
    case StageKind::kCrop:
      return std::make_unique<CropActor>(pipeline, index, links, schedule);
    case StageKind::kPad:
      return std::make_unique<PadActor>(pipeline, index, links, schedule);
    case StageKind::kRearrange:
      return std::make_unique<RearrangeActor>(pipeline, index, links, schedule);
    case StageKind::kConvolution:
    case StageKind::kDepthwise:
    case StageKind::kMaxPool:
      return MakeWindowActor(pipeline, index, links, schedule);
    case StageKind::kGlobalSum:
      return std::make_unique<GlobalSumActor>(pipeline, index, links, schedule);
    case StageKind::kSink:
    case StageKind::kFork:
    case StageKind::kTable:
    case StageKind::kAffine:
      return std::make_unique<EveryWordActor>(pipeline, index, links, schedule);
  }
  KILN_CHECK(false && "every kind of stage has an actor");
  return nullptr;
}

}  // namespace kiln::dataflow
