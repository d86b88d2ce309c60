// Drives a fetch unit through a sequence of instructions and checks it against docs/systolic.md:
// its requests and the earliest cycle of each, and the contents and time of every bank that it
// hands over.
#ifndef KILN_TESTS_RTL_SYSTOLIC_FETCH_BENCH_H_
#define KILN_TESTS_RTL_SYSTOLIC_FETCH_BENCH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/systolic/config/config.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/read_port_model.h"

namespace kiln::systolic {

struct FetchRequest {
  uint64_t address = 0;  // of no meaning where bytes is 0
  int64_t bytes = 0;
};

// Requests on the port of block scales. The first is issued together with request `beside` of the
// fill, the others one per cycle after it.
struct ScaleRequests {
  size_t beside = 0;
  std::vector<FetchRequest> requests;
};

// One fill of a bank: the requests in order, and the contents of the bank afterwards.
struct FetchFill {
  int buffer = 0;
  std::vector<FetchRequest> requests;
  std::vector<size_t> tiles;          // requests that wait for all scales asked for before
  std::vector<ScaleRequests> scales;  // in the order of `beside`
  std::vector<std::pair<size_t, uint32_t>> contents;  // element of the bank and its code
  bool padding_only = false;                          // one byte is read and thrown away
  bool exact = true;                                  // nothing else is written
};

// Returns the number of cycles that a request occupies its port.
inline int64_t CyclesOf(const std::vector<FetchRequest>& requests, int64_t port_bytes) {
  int64_t cycles = 0;
  for (const FetchRequest& r : requests) cycles += PortCycles(r.address, r.bytes, port_bytes);
  return cycles;
}

// Returns lane `lane` of a word of `bits`-bit codes.
template <typename Port>
uint32_t LaneOf(const Port& word, size_t lane, size_t bits) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&word);
  uint32_t code = 0;
  for (size_t b = 0; b < bits; ++b) {
    const size_t at = lane * bits + b;
    code |= static_cast<uint32_t>(bytes[at / 8] >> at % 8 & 1) << b;
  }
  return code;
}

// Drives one fetch unit. Unit provides the Model and knows its ports:
//   kBuffers, kBanks                  number of buffers it fills, and the banks of each
//   kRequestCycles                    cycles from an available command to its first request
//   SetWait(model, count)             the instruction count that a command waits for
//   SetReleased(model, buffer, on)    token of a bank that is free again
//   Filled(model, buffer)             token of a bank that is full
//   ForWrites(model, config, put)     put(buffer, bank, element, code) for all writes of this cycle
//   WaitsForCount(model), WaitsForBank(model)   its stall outputs
//   kScaleBytes                       bytes of a word of the scale port; 0 without one
template <typename Unit>
class FetchBench {
 public:
  using Model = typename Unit::Model;

  // `stalls` is the probability with which the memory delays a request or a word in a cycle; 0 is
  // the ideal memory.
  FetchBench(const Config& config, int64_t port_bytes, size_t word_bytes, double stalls,
             uint64_t seed)
      : config_(config),
        stalls_(stalls),
        random_(seed),
        port_(port_bytes, config.memory_latency, word_bytes, stalls, seed + 1),
        scale_port_(/*port_bytes=*/8, config.memory_latency, Unit::kScaleBytes, stalls, seed + 3),
        unit_(seed + 2) {
    unit_->command_valid = unit_->request_ready = unit_->word_valid = 0;
    for (int b = 0; b < Unit::kBuffers; ++b) Unit::SetReleased(*unit_, b, false);
    for (Buffer& buffer : buffers_) buffer.free_banks = Unit::kBanks;
    unit_.Reset();
  }

  // Runs instruction `number`, which waits for the one `distance` before it (0: for none). Returns
  // when all its words have arrived, because the next instruction has another memory.
  // `command_scales` is the section of block scales, if the unit has a port for it.
  void Run(const std::vector<uint8_t>& command, uint32_t number, uint32_t distance,
           const std::vector<FetchFill>& fills, const std::vector<uint8_t>& memory,
           const std::vector<uint8_t>& command_scales = {}) {
    rtl::SetBytes(unit_->command, command);
    if constexpr (Unit::kScaleBytes > 0) rtl::SetBytes(unit_->command_scales, command_scales);
    const int64_t offered = cycle_ + static_cast<int64_t>(random_.Below(3));
    const bool waits = distance > 0;
    const int64_t counted = waits ? offered + static_cast<int64_t>(random_.Below(30)) - 10 : 0;
    int64_t first_request = -1, beats = 0, bytes_read = 0;
    size_t fill = 0, request = 0;
    bool held_back = false;
    for (bool done = false;
         !done || !port_.Idle() || !scale_port_.Idle() || !scales_to_come_.empty();) {
      ASSERT_LT(cycle_ - offered, 1000000) << "the unit does not finish";
      BeginCycle();
      const bool there = !done && cycle_ >= offered;
      const bool counts = !waits || cycle_ >= counted;
      unit_->command_valid = there;
      // Enough instructions are finished: all, or all but fewer than the distance.
      const uint32_t missing = !counts ? distance
                               : waits ? static_cast<uint32_t>(random_.Below(distance))
                                       : 1;
      Unit::SetWait(*unit_, static_cast<uint16_t>(number - missing));
      unit_.Settle();
      ASSERT_NO_FATAL_FAILURE(CheckWrites());

      bool last = false;
      const bool scales_busy = !scales_to_come_.empty();
      Buffer* buffer = done ? nullptr : &buffers_[static_cast<size_t>(fills[fill].buffer)];
      const bool no_bank = !done && request == 0 && buffer->free_banks == 0;
      bool expected = there && cycle_ >= offered + Unit::kRequestCycles && counts && !no_bank;
      if (expected && scales_busy && WaitsForScales(fills[fill], request)) expected = false;
      const ScaleRequests* scales = expected ? ScalesBeside(fills[fill], request) : nullptr;
      if (scales != nullptr && !scale_port_.Ready()) expected = false;  // both go out together
      const bool accepted = expected && port_.Ready();
      ASSERT_NO_FATAL_FAILURE(CheckScaleRequest(memory, port_.Ready() ? scales : nullptr));
      ASSERT_EQ(unit_->request_valid, expected)
          << "cycle " << cycle_ << " fill " << fill << " request " << request;
      if (first_request >= 0 && !done && !expected) held_back = true;
      if (accepted) {
        if (request == 0) {
          --buffer->free_banks;
          buffer->begun.push_back(&fills[fill]);
        }
        if (first_request < 0) first_request = cycle_;
        const FetchRequest& asked = fills[fill].requests[request];
        ASSERT_EQ(unit_->request_bytes, static_cast<uint32_t>(asked.bytes))
            << "fill " << fill << " request " << request;
        if (asked.bytes > 0) {
          ASSERT_EQ(unit_->request_address, asked.address)
              << "fill " << fill << " request " << request;
        }
        const int64_t busy =
            port_.Accept(memory, asked.address, asked.bytes,
                         rtl::GetBytes(unit_->request_tag, sizeof unit_->request_tag));
        beats += busy;
        if (++request == fills[fill].requests.size()) {
          buffer->ends.push_back(cycle_ + std::max(busy, 1 + std::ssize(scales_to_come_)));
          request = 0;
          last = ++fill == fills.size();
        }
        if (last && stalls_ == 0 && !held_back && fills[0].scales.empty()) {
          // No cycle may be lost between requests, lines, groups or fills.
          ASSERT_EQ(cycle_ + busy - first_request, beats);
          ++runs_without_a_gap_;
        }
      }
      ASSERT_EQ(unit_->command_ready, last);
      // The unit must report that it is busy while a request occupies a port.
      const bool port_done = (!asked_ || port_.Ready()) && !scales_busy;
      ASSERT_EQ(unit_->busy, unit_->request_valid || !port_done) << "cycle " << cycle_;
      ASSERT_EQ(Unit::WaitsForCount(*unit_), there && port_done && !counts);
      ASSERT_EQ(Unit::WaitsForBank(*unit_), there && port_done && counts && no_bank);
      bytes_read += static_cast<int64_t>(unit_->bytes_read);
      asked_ = accepted || (asked_ && !port_.Ready());
      done = done || last;
      EndCycle();
    }
    int64_t bytes = 0;
    for (const FetchFill& f : fills) {
      for (const FetchRequest& r : f.requests) bytes += r.bytes;
      if (f.padding_only) --bytes;  // what is thrown away does not count
    }
    ASSERT_EQ(bytes_read, bytes);
    for (const Buffer& buffer : buffers_)
      ASSERT_TRUE(buffer.begun.empty()) << "a fill was not handed over";
  }
  int64_t runs_without_a_gap() const { return runs_without_a_gap_; }

 private:
  // A buffer as the unit writes it, and its banks while another unit uses them and releases them.
  struct Buffer {
    std::array<std::vector<int64_t>, 2> banks;  // codes; -1: not written by this fill
    std::deque<const FetchFill*> begun;         // fills whose words are not all there
    std::deque<int64_t> ends;                   // of the busy time of fills, likewise
    std::deque<int64_t> releases;               // cycles of the tokens to come
    int64_t free_banks = 0, fills = 0, last_release = 0;
  };

  static bool WaitsForScales(const FetchFill& fill, size_t request) {
    return std::binary_search(fill.tiles.begin(), fill.tiles.end(), request);
  }
  static const ScaleRequests* ScalesBeside(const FetchFill& fill, size_t request) {
    const auto at = std::lower_bound(fill.scales.begin(), fill.scales.end(), request,
                                     [](const ScaleRequests& s, size_t r) { return s.beside < r; });
    return at != fill.scales.end() && at->beside == request ? &*at : nullptr;
  }

  // Checks the scale port in this cycle: the next request of the tile in progress, or (`beside`)
  // the first request of a new tile.
  void CheckScaleRequest(const std::vector<uint8_t>& memory, const ScaleRequests* beside) {
    if constexpr (Unit::kScaleBytes > 0) {
      ASSERT_EQ(unit_->scale_request_valid, !scales_to_come_.empty() || beside != nullptr)
          << "cycle " << cycle_;
      if (!scale_port_.Ready()) return;
      if (beside != nullptr)
        scales_to_come_.assign(beside->requests.begin(), beside->requests.end());
      if (scales_to_come_.empty()) return;
      const FetchRequest& asked = scales_to_come_.front();
      ASSERT_EQ(Unit::ScaleRequestBytes(*unit_), asked.bytes);
      if (asked.bytes > 0) {
        ASSERT_EQ(unit_->scale_request_address, asked.address);
      }
      scale_port_.Accept(memory, asked.address, asked.bytes,
                         rtl::GetBytes(unit_->scale_request_tag, sizeof unit_->scale_request_tag));
      scales_to_come_.pop_front();
    } else {
      ASSERT_EQ(beside, nullptr);
    }
  }

  void BeginCycle() {
    port_.BeginCycle(cycle_);
    scale_port_.BeginCycle(cycle_);
    if constexpr (Unit::kScaleBytes > 0) {
      unit_->scale_request_ready = scale_port_.Ready();
      const ReadPortModel::Word* scale = scale_port_.Out();
      unit_->scale_word_valid = scale != nullptr;
      if (scale != nullptr) {
        rtl::SetBytes(unit_->scale_word_data, scale->data);
        rtl::SetBytes(unit_->scale_word_tag, scale->tag);
      }
    }
    unit_->request_ready = port_.Ready();
    const ReadPortModel::Word* word = port_.Out();
    unit_->word_valid = word != nullptr;
    if (word != nullptr) {
      rtl::SetBytes(unit_->word_data, word->data);
      rtl::SetBytes(unit_->word_tag, word->tag);
    }
    for (int b = 0; b < Unit::kBuffers; ++b) {
      const std::deque<int64_t>& releases = buffers_[static_cast<size_t>(b)].releases;
      Unit::SetReleased(*unit_, b, !releases.empty() && releases.front() == cycle_);
    }
  }

  void EndCycle() {
    for (Buffer& buffer : buffers_) {
      if (buffer.releases.empty() || buffer.releases.front() != cycle_) continue;
      buffer.releases.pop_front();
      ++buffer.free_banks;  // from the next cycle on
    }
    port_.EndCycle();
    scale_port_.EndCycle();
    unit_.Step();
    ++cycle_;
  }

  void CheckWrites() {
    ports_.ForWrites(*unit_, config_, [&](int b, size_t bank, size_t element, uint32_t code) {
      Buffer& buffer = buffers_[static_cast<size_t>(b)];
      // The write belongs to the fill that is handed over next or to the one after it, because
      // codes and scales arrive over two ports.
      const auto ahead =
          (bank + Unit::kBanks - static_cast<size_t>(buffer.fills % Unit::kBanks)) % Unit::kBanks;
      ASSERT_LT(ahead, buffer.begun.size());
      std::vector<int64_t>& codes = buffer.banks[bank];
      if (codes.size() <= element) codes.resize(element + 1, -1);
      ASSERT_EQ(codes[element], -1) << "element " << element << " is written twice";
      codes[element] = code;
    });
    for (int b = 0; b < Unit::kBuffers; ++b) {
      if (Unit::Filled(*unit_, b)) {
        ASSERT_NO_FATAL_FAILURE(CheckFill(buffers_[static_cast<size_t>(b)]));
      }
    }
  }

  void CheckFill(Buffer& buffer) {
    ASSERT_FALSE(buffer.ends.empty());
    if (stalls_ == 0) {
      ASSERT_EQ(cycle_ + 1, buffer.ends.front() + config_.memory_latency);  // done = busy end + L
    }
    buffer.ends.pop_front();
    const FetchFill& fill = *buffer.begun.front();
    buffer.begun.pop_front();
    std::vector<int64_t>& codes = buffer.banks[static_cast<size_t>(buffer.fills++ % Unit::kBanks)];
    for (const auto& [element, code] : fill.contents) {
      ASSERT_LT(element, codes.size());
      ASSERT_EQ(codes[element], code) << "element " << element;
      codes[element] = -1;
    }
    if (fill.exact) {
      ASSERT_TRUE(std::all_of(codes.begin(), codes.end(), [](int64_t code) { return code == -1; }))
          << "something is written that is not of the fill";
    }
    codes.clear();
    buffer.last_release =
        std::max(buffer.last_release, cycle_) + 1 + static_cast<int64_t>(random_.Below(60));
    buffer.releases.push_back(buffer.last_release);
  }

  const Config& config_;
  const double stalls_;
  Random random_;
  ReadPortModel port_, scale_port_;
  std::deque<FetchRequest> scales_to_come_;  // of the tile that has begun
  rtl::Simulation<Model> unit_;
  Unit ports_;
  std::array<Buffer, Unit::kBuffers> buffers_;
  bool asked_ = false;  // the port may be busy with a request
  int64_t cycle_ = 0, runs_without_a_gap_ = 0;
};

}  // namespace kiln::systolic

#endif  // KILN_TESTS_RTL_SYSTOLIC_FETCH_BENCH_H_
