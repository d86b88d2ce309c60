// The timing of window stages: the writer, the inserter and the reader of docs/dataflow-machine.md,
// and the steps of pointwise layers.

#include <algorithm>
#include <memory>

#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/links.h"

namespace kiln::dataflow {
namespace {

// The position inside the steps of one output pixel: for g, for og, for ig.
struct PixelSteps {
  explicit PixelSteps(const WindowLoops& l) : loops(l) {}
  const WindowLoops loops;
  int64_t group = 0, pass = 0, word = 0;

  bool first_pass() const { return pass == 0; }
  int64_t word_of_pixel() const { return group * loops.words_per_group + word; }
  bool completes() const {
    return loops.results_per_pixel == loops.words_per_pixel * loops.passes ||
           word == loops.words_per_group - 1;
  }
  // Returns the number of steps, this one included and at least 1, that neither read new words nor
  // complete a result before the last of them.
  int64_t RunLength() const {
    return first_pass() ? 1 : std::max<int64_t>(1, loops.words_per_group - 1 - word);
  }
  // Goes forward by steps of one pass; returns whether the pixel is done.
  bool Advance(int64_t steps) {
    word += steps;
    if (word < loops.words_per_group) return false;
    word = 0;
    if (++pass < loops.passes) return false;
    pass = 0;
    if (++group < loops.groups) return false;
    group = 0;
    return true;
  }
};

// A window of a single pixel: needs no row buffer. Pixels that the stride skips are read and
// dropped.
class PointwiseActor final : public Actor {
 public:
  PointwiseActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : Actor(pipeline, index, links, schedule),
        window_(stage_.window),
        map_(stage_.map),
        streams_(pipeline.Streams(stage_)),
        steps_(LoopsOf(pipeline, stage_)) {}

 protected:
  int64_t Act(int64_t now) override {
    if (now < free_) return free_;
    const bool reads = !InOutput() || steps_.first_pass();
    if (reads && !HasWord(now)) {
      Stalled(now, "input");
      return in().NextWord();
    }
    if (!InOutput()) {
      Pop(now);
      Busy(now);
      if (++discarded_ == steps_.loops.words_per_pixel) {
        discarded_ = 0;
        NextPixel();
      }
      return free_ = now + 1;
    }
    if (streams_ && !HasWord(now, 1)) {
      Stalled(now, "weights");
      return in(1).NextWord();
    }
    if (steps_.completes() && !HasRoom(now, steps_.loops.reserve)) {
      Stalled(now, "output");
      return kNever;
    }
    const int64_t run = streams_ ? 1 : steps_.RunLength();
    if (reads) Pop(now);
    if (streams_) Pop(now, 1);
    if (steps_.completes()) Send(now, steps_.loops.reserve);
    Busy(now, run);
    if (steps_.Advance(run)) NextPixel();
    return free_ = now + run;
  }

 private:
  bool InOutput() const {
    return y_ % window_.stride_y == 0 && x_ % window_.stride_x == 0 &&
           y_ / window_.stride_y < window_.out_height && x_ / window_.stride_x < window_.out_width;
  }
  void NextPixel() {
    if (++x_ < map_.width) return;
    x_ = 0;
    if (++y_ == map_.height) y_ = 0;
  }

  const Window& window_;
  const MapShape map_;
  const bool streams_;  // weights come from a weight stream
  PixelSteps steps_;
  int64_t y_ = 0, x_ = 0, discarded_ = 0;
  int64_t free_ = 0;  // the cycle of the next step
};

// A window with a row buffer. The writer stores the rows of the input as they arrive, the inserter
// reads columns from the buffer, and the reader uses the window in the steps of an output pixel.
// Rows are numbered over the whole stream, so that the writer can be an image ahead of the reader.
class BufferedActor final : public Actor {
 public:
  BufferedActor(const Pipeline& pipeline, int index, std::vector<Link>* links, Schedule* schedule)
      : Actor(pipeline, index, links, schedule),
        window_(stage_.window),
        map_(stage_.map),
        row_words_(map_.width * map_.channels / pipeline.input(stage_).lanes),
        streams_(pipeline.Streams(stage_)),
        steps_(LoopsOf(pipeline, stage_)),
        before_(steps_.loops.first_insertions - 1) {}

 protected:
  // The writer and the reader act on the state at the start of the cycle.
  int64_t Act(int64_t now) override {
    const bool has_row = MayWrite(), writes = has_row && HasWord(now);
    const bool steps = now >= free_ && MayStep(now);
    bool inserted = false;
    if (steps) inserted = Step(now);
    if (writes) {
      Pop(now);
      if (++write_word_ == row_words_) {
        write_word_ = 0;
        ++write_row_;
      }
    }
    // The next cycle in which one of the two may do something.
    int64_t next = kNever;
    if (writes || inserted) next = now + 1;
    if (has_row && !writes) next = std::min(next, in().NextWord());
    if (steps || now < free_) next = std::min(next, free_);
    if (!steps && LacksWeights(now)) next = std::min(next, std::max(free_, in(1).NextWord()));
    return next;
  }

 private:
  // The first row of the stream that a row set of the inserter's frame needs.
  int64_t FirstRow(int64_t out_row) const {
    if (out_row == window_.out_height) return (frame_ + 1) * map_.height;
    return frame_ * map_.height +
           std::max<int64_t>(0, out_row * window_.stride_y - window_.pad_top);
  }
  int64_t InsertWord() const { return column_ * steps_.loops.words_per_pixel + word_; }
  // The writer may not overwrite words that the inserter still needs. The buffer holds `rows` rows
  // from the first one of the current row set. A row that only the next row set no longer needs may
  // be overwritten up to the inserter's position, so the writer follows the inserter word by word.
  bool MayWrite() const {
    const int64_t rows = window_.buffer_rows();
    return write_row_ < FirstRow(row_set_) + rows ||
           (write_row_ < FirstRow(row_set_ + 1) + rows && write_word_ < InsertWord());
  }
  bool Inserts() const { return before_ > 0 || steps_.first_pass(); }
  // Whether the rows of the column that the inserter reads next are in the buffer.
  bool IsWritten() const {
    if (column_ >= map_.width) return true;
    const int64_t last = std::min(
        map_.height - 1, row_set_ * window_.stride_y - window_.pad_top + window_.rows() - 1);
    if (last < 0) return true;
    const int64_t row = frame_ * map_.height + last;
    return write_row_ > row || (write_row_ == row && write_word_ > InsertWord());
  }
  bool MayStep(int64_t now) {
    if (Inserts() && !IsWritten()) {
      Stalled(now, "rows");
      return false;
    }
    if (LacksWeights(now)) {
      Stalled(now, "weights");
      return false;
    }
    if (before_ == 0 && steps_.completes() && !HasRoom(now, steps_.loops.reserve)) {
      Stalled(now, "output");
      return false;
    }
    return true;
  }
  // Returns whether the step needs weights that have not arrived.
  bool LacksWeights(int64_t now) const { return streams_ && before_ == 0 && !HasWord(now, 1); }
  // Does a step, or several that depend on nothing; returns whether the inserter moved.
  bool Step(int64_t now) {
    if (before_ > 0) {
      Busy(now);
      free_ = now + 1;
      if (Insert()) --before_;
      return true;
    }
    const bool inserts = steps_.first_pass();
    const int64_t run = streams_ ? 1 : steps_.RunLength();
    if (streams_) Pop(now, 1);
    if (steps_.completes()) Send(now, steps_.loops.reserve);
    Busy(now, run);
    free_ = now + run;
    if (inserts) Insert();
    if (steps_.Advance(run)) NextPixel();
    return inserts;
  }
  // Inserts a word; returns whether the column is complete. After the last column of a frame the
  // inserter goes on to the next frame, while the reader may still need the window for more passes.
  bool Insert() {
    if (++word_ < steps_.loops.words_per_pixel) return false;
    word_ = 0;
    if (++inserted_ == steps_.loops.insertions) {
      inserted_ = row_set_ = column_ = 0;
      ++frame_;
    } else if (++column_ == map_.width && row_set_ + 1 < window_.out_height) {
      column_ = 0;
      ++row_set_;
    }
    return true;
  }
  void NextPixel() {
    before_ = window_.stride_x - 1;
    if (++out_x_ < window_.out_width) return;
    out_x_ = 0;
    before_ = steps_.loops.row_insertions - 1;
    if (++out_y_ < window_.out_height) return;
    out_y_ = 0;
    before_ = steps_.loops.first_insertions - 1;
  }

  const Window& window_;
  const MapShape map_;
  const int64_t row_words_;
  const bool streams_;  // weights come from a weight stream
  PixelSteps steps_;
  int64_t write_row_ = 0, write_word_ = 0;                   // of the whole stream; of the row
  int64_t frame_ = 0, row_set_ = 0, column_ = 0, word_ = 0;  // the inserter's position
  int64_t inserted_ = 0;                                     // columns of the frame
  int64_t out_y_ = 0, out_x_ = 0;
  int64_t before_;    // columns to insert before the next pixel's steps
  int64_t free_ = 0;  // the cycle of the next step
};

}  // namespace

std::unique_ptr<Actor> MakeWindowActor(const Pipeline& pipeline, int index,
                                       std::vector<Link>* links, Schedule* schedule) {
  if (pipeline.stages[static_cast<size_t>(index)].window.pointwise())
    return std::make_unique<PointwiseActor>(pipeline, index, links, schedule);
  return std::make_unique<BufferedActor>(pipeline, index, links, schedule);
}

}  // namespace kiln::dataflow
