// Drives a Verilated module from a GoogleTest program.
//
// A cycle has two halves. In the first half the test sets inputs, calls Settle() and reads outputs
// that depend on them combinationally (a ready that depends on a valid). These outputs decide the
// handshakes. Step() is the clock edge that ends the cycle. "An event at T" in the RTL's
// documentation is therefore observed between step T and step T+1.
#ifndef KILN_TESTS_RTL_SUPPORT_H_
#define KILN_TESTS_RTL_SUPPORT_H_

#include <gtest/gtest.h>
#include <verilated.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::rtl {

// A model, its clock and its time. Registers and memories without a reset have random initial bits
// from the seed. A failed assertion in the RTL ($error, also of an AXI checker) fails the test,
// unless TakeError() has consumed it.
template <typename Model>
class Simulation {
 public:
  explicit Simulation(uint64_t seed = 1) : context_(std::make_unique<VerilatedContext>()) {
    context_->randReset(2);
    context_->randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    context_->fatalOnError(false);
    context_->assertOn(true);
    model_ = std::make_unique<Model>(context_.get());
    model_->clock = 0;
    if constexpr (kHasReset) {
      model_->reset = 0;
    }
    BeginWaveform();
    model_->eval();  // the first evaluation takes the clock as it finds it: no edge
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() {
    EXPECT_FALSE(context_->gotError())
        << "an assertion of the RTL failed; its message is in the output";
    // The thread's context may be of another simulation, which has ended.
    Verilated::threadContextp(context_.get());
    model_->final();
    model_.reset();
  }

  Model* operator->() { return model_.get(); }
  Model& operator*() { return *model_; }

  // Returns the number of cycles since the end of the reset.
  uint64_t Cycle() const { return cycle_; }

  // Resets for three cycles. Inputs must be set before: a valid may be high, but nothing is
  // accepted.
  void Reset() {
    model_->reset = 1;
    for (int i = 0; i < 3; ++i) {
      Settle();
      Step();
    }
    model_->reset = 0;
    Settle();
    cycle_ = 0;
  }

  // Propagates the inputs through combinational logic.
  void Settle() { model_->eval(); }

  // Performs the rising clock edge that ends the cycle, and the falling one. Outputs are then those
  // of the next cycle with the inputs of this one; call Settle() again after changing inputs.
  void Step() {
    Record();  // the cycle with its inputs, just before the edge
    model_->clock = 1;
    model_->eval();
    Record();
    model_->clock = 0;
    model_->eval();
    ++cycle_;
  }

  // Returns whether an assertion has failed since the last call, and clears it.
  bool TakeError() {
    const bool error = context_->gotError();
    context_->gotError(false);
    context_->gotFinish(false);
    context_->errorCount(0);
    return error;
  }

 private:
  template <typename M, typename = void>
  struct Resets : std::false_type {};
  template <typename M>
  struct Resets<M, std::void_t<decltype(std::declval<M&>().reset)>> : std::true_type {};
  static constexpr bool kHasReset = Resets<Model>::value;

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Model> model_;

#if VM_TRACE_FST
  void BeginWaveform() {
    static int number = 0;
    const char* folder = std::getenv("KILN_RTL_WAVES");
    if (folder == nullptr) {
      return;
    }
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    waveform_ = std::make_unique<VerilatedFstC>();
    context_->traceEverOn(true);
    model_->trace(waveform_.get(), 99);
    const std::string name =
        std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(number++);
    waveform_->open((std::string(folder) + "/" + name + ".fst").c_str());
  }
  void Record() {
    if (waveform_ != nullptr) {
      waveform_->dump(context_->time());
    }
    context_->timeInc(1);
  }
  std::unique_ptr<VerilatedFstC> waveform_;
#else
  void BeginWaveform() {}
  void Record() { context_->timeInc(1); }
#endif

  uint64_t cycle_ = 0;
};

// Returns a port of any width as bytes, least significant first. Verilator stores a port in 1, 2,
// 4, 8 or a multiple of 4 bytes, with zero bits above its width; `bytes` must not exceed that.
template <typename Port>
std::vector<uint8_t> GetBytes(const Port& port, size_t bytes) {
  static_assert(std::is_trivially_copyable_v<Port>);
  EXPECT_LE(bytes, sizeof port);
  std::vector<uint8_t> result(bytes);
  std::copy_n(reinterpret_cast<const uint8_t*>(&port), std::min(bytes, sizeof port),
              result.begin());
  return result;
}

// Sets the lowest bytes of a port, and the others to zero.
template <typename Port>
void SetBytes(Port& port, const std::vector<uint8_t>& bytes) {
  static_assert(std::is_trivially_copyable_v<Port>);
  EXPECT_LE(bytes.size(), sizeof port);
  std::memset(static_cast<void*>(&port), 0, sizeof port);
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof port),
              reinterpret_cast<uint8_t*>(&port));
}

// Decides when one side of a handshake stalls: in each cycle with the given probability, or
// (kBursts) in stretches of random length, which fill and drain queues that single stalls do not.
class Stalls {
 public:
  enum class Kind { kSingle, kBursts };
  explicit Stalls(uint64_t seed, double probability = 0, Kind kind = Kind::kSingle)
      : random_(seed), probability_(probability), kind_(kind) {}

  // Returns whether this cycle stalls; must be called once per cycle.
  bool Next() {
    if (kind_ == Kind::kSingle) {
      return random_.Uniform() < probability_;
    }
    if (remaining_ == 0) {
      stalled_ = random_.Uniform() < probability_;
      remaining_ = 1 + random_.Below(20);
    }
    --remaining_;
    return stalled_;
  }

 private:
  Random random_;
  double probability_;
  Kind kind_;
  bool stalled_ = false;
  uint64_t remaining_ = 0;
};

// The sending side of a valid/ready handshake. It offers its items in order, with stalls before
// each, and holds an item until it is accepted, as the rules of the handshake require.
//   each cycle: Drive(); set valid = Valid(), payload = Item(); Settle(); Taken(ready); Step()
template <typename T>
class Source {
 public:
  explicit Source(Stalls stalls) : stalls_(std::move(stalls)) {}
  void Push(T item) { items_.push_back(std::move(item)); }
  bool Empty() const { return items_.empty(); }
  // Decides whether an item is offered in this cycle.
  void Drive() {
    const bool stall = stalls_.Next();
    valid_ = !items_.empty() && (valid_ || !stall);
  }
  bool Valid() const { return valid_; }
  // Returns the item that is offered; arbitrary in a cycle without an offer.
  const T& Item() const { return items_.front(); }
  // Returns whether the item was accepted in this cycle.
  bool Taken(bool ready) {
    if (!valid_ || !ready) {
      return false;
    }
    items_.pop_front();
    valid_ = false;
    return true;
  }

 private:
  Stalls stalls_;
  std::deque<T> items_;
  bool valid_ = false;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SUPPORT_H_
