// A model of a read port (rtl/bus/kiln_axi_read_port.sv) and the memory behind it, as a fetch unit
// sees them. An ideal port takes exactly the beats and the latency that docs/systolic.md states;
// otherwise both sides stall at random, and bytes beyond a word's are random.
#ifndef KILN_TESTS_RTL_SYSTOLIC_READ_PORT_MODEL_H_
#define KILN_TESTS_RTL_SYSTOLIC_READ_PORT_MODEL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::systolic {

// Returns the cycles that a request occupies its port: the aligned words of the port's width that
// it touches; a null request takes one.
inline int64_t PortCycles(uint64_t address, int64_t bytes, int64_t port_bytes) {
  if (bytes == 0) return 1;
  const auto port = static_cast<uint64_t>(port_bytes);
  return static_cast<int64_t>((address + static_cast<uint64_t>(bytes) - 1) / port - address / port +
                              1);
}

class ReadPortModel {
 public:
  struct Word {
    int64_t due = 0;  // the cycle in which it comes out, if nothing stalls
    std::vector<uint8_t> data, tag;
  };

  // `word_bytes` is the width of a word.
  ReadPortModel(int64_t port_bytes, int64_t latency, size_t word_bytes, double stalls,
                uint64_t seed)
      : port_bytes_(port_bytes),
        latency_(latency),
        word_bytes_(word_bytes),
        stalls_(stalls),
        random_(seed) {}

  void BeginCycle(int64_t cycle) {
    cycle_ = cycle;
    const bool stalled = stalls_ > 0 && random_.Uniform() < stalls_;
    ready_ = cycle_ >= free_ && !stalled;
    const bool held_back = stalls_ > 0 && random_.Uniform() < stalls_;
    word_out_ = !words_.empty() && words_.front().due <= cycle_ && !held_back;
  }
  bool Ready() const { return ready_; }
  // Returns the word that is delivered in this cycle, or null.
  const Word* Out() const { return word_out_ ? &words_.front() : nullptr; }

  // Accepts a request in this cycle and returns its beats.
  int64_t Accept(std::span<const uint8_t> memory, uint64_t address, int64_t bytes,
                 std::vector<uint8_t> tag) {
    const int64_t beats = PortCycles(address, bytes, port_bytes_);
    Word word;
    word.data.resize(word_bytes_);
    for (uint8_t& byte : word.data) byte = static_cast<uint8_t>(random_());
    EXPECT_LE(static_cast<size_t>(bytes), word_bytes_);
    if (address + static_cast<uint64_t>(bytes) > memory.size() && bytes > 0) {
      ADD_FAILURE() << bytes << " bytes at " << address << " lie outside the memory of "
                    << memory.size();
    } else {
      std::copy_n(memory.begin() + static_cast<int64_t>(bytes > 0 ? address : 0), bytes,
                  word.data.begin());
    }
    word.tag = std::move(tag);
    // A null request has no latency but keeps its position in the order.
    word.due = std::max(bytes == 0 ? cycle_ + 2 : cycle_ + beats - 1 + latency_, last_due_ + 1);
    last_due_ = word.due;
    words_.push_back(std::move(word));
    free_ = cycle_ + beats;
    return beats;
  }
  void EndCycle() {
    if (!word_out_) return;
    words_.pop_front();
    word_out_ = false;
  }
  bool Idle() const { return words_.empty(); }

 private:
  int64_t port_bytes_, latency_;
  size_t word_bytes_;
  double stalls_;
  Random random_;
  int64_t cycle_ = 0, free_ = 0, last_due_ = 0;
  bool ready_ = false, word_out_ = false;
  std::deque<Word> words_;
};

}  // namespace kiln::systolic

#endif  // KILN_TESTS_RTL_SYSTOLIC_READ_PORT_MODEL_H_
