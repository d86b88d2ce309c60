// The sample in an emitted folder: reads its steps and compares what the machine computed with what
// Kiln's functional level expects. Self-contained C++17, because it is copied into emitted designs.
//
// FOLDER/steps.txt has one step per line; lines that begin with # are comments. Numbers are
// decimal.
//
//   write OFFSET BYTES ADDRESS     copies bytes of input0.bin into the memory
//   set ADDRESS VALUE              writes a register
//   place ADDRESS PLACE            writes the bus address of byte PLACE of the memory to a register
//                                  of two words, the lower one first
//   run WORD ...                   starts the machine; its testbench defines the words
//   expect S OFFSET BASE BITS KIND NAME AXIS ...
//                                  compares a tensor with the memory, or with stream out number S.
//                                  Its first expected byte is at OFFSET of expectedS.bin, its first
//                                  byte in memory or stream is at BASE. KIND: s signed integer,
//                                  u unsigned integer, x other codes, shown in hexadecimal.
//   split                          The beats of the one stream out belong to several streams: the
//                                  last byte of a beat is the number of its stream.
//   AXIS                           NAME:COUNT*STRIDE:COUNT*STRIDE..., the digits of an index, the
//                                  fastest one first, with strides in bits
//
// Stream in number S is the file inputS.bin.
#ifndef KILN_RTL_TESTBENCH_KILN_SIMULATE_SAMPLE_H_
#define KILN_RTL_TESTBENCH_KILN_SIMULATE_SAMPLE_H_

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kiln_simulate_options.h"

namespace kiln::testbench {

// A step of the sample.
struct SampleStep {
  enum class Kind { kWrite, kSet, kPlace, kRun, kExpect } kind = Kind::kWrite;
  uint64_t stream = 0, offset = 0, bytes = 0, base = 0;
  uint32_t address = 0, value = 0;  // of a register
  std::vector<uint64_t> words;      // of a run
  unsigned bits = 8;
  char shown = 's';
  std::string name;
  struct Axis {
    std::string name;
    std::vector<std::pair<uint64_t, uint64_t>> digits;  // count and stride in bits
    uint64_t count() const {
      uint64_t product = 1;
      for (const auto& digit : digits) product *= digit.first;
      return product;
    }
  };
  std::vector<Axis> axes;
};

// The sample in a folder.
class Sample {
 public:
  // Reads the steps. Calls Fail if a file is missing or a line is none of the above.
  explicit Sample(const std::string& folder) : folder_(folder) {
    std::ifstream in(folder + "/steps.txt");
    if (!in) Fail(folder + "/steps.txt: cannot be read");
    for (std::string line; std::getline(in, line);) {
      if (line == "split") {
        split_ = true;
      } else if (!line.empty() && line[0] != '#') {
        steps_.push_back(StepOf(line));
      }
    }
  }

  const std::vector<SampleStep>& steps() const { return steps_; }
  // Returns whether the beats out are of several streams.
  bool split() const { return split_; }

  // Returns the bytes of stream in number `stream`; of a machine with memory, of all writes.
  const std::vector<uint8_t>& Input(uint64_t stream) { return FileOf("input", stream); }

  // Copies the bytes of a write to the memory.
  void Write(const SampleStep& step, std::vector<uint8_t>& memory) {
    const std::vector<uint8_t>& input = Input(0);
    if (step.offset > input.size() || step.bytes > input.size() - step.offset)
      Fail(folder_ + "/input0.bin: too short");
    if (step.base + step.bytes > memory.size()) memory.resize(step.base + step.bytes, 0);
    for (uint64_t i = 0; i < step.bytes; ++i) memory[step.base + i] = input[step.offset + i];
  }

  // Compares a tensor with `found`, all bytes of the memory or of the stream. Prints the first
  // difference and returns false if there is one.
  bool Compare(const SampleStep& step, const std::vector<uint8_t>& found) {
    const std::vector<uint8_t>& expected = FileOf("expected", step.stream);
    ++tensors_;
    std::vector<uint64_t> index(step.axes.size(), 0);
    uint64_t elements = 1;
    for (const SampleStep::Axis& axis : step.axes) elements *= axis.count();
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t at = PositionOf(step, index);
      if (8 * step.offset + at + step.bits > 8 * expected.size())
        Fail(folder_ + "/expected" + std::to_string(step.stream) + ".bin: too short");
      const uint64_t right = BitsAt(expected, 8 * step.offset + at, step.bits);
      const bool exists = 8 * step.base + at + step.bits <= 8 * found.size();
      const uint64_t value = exists ? BitsAt(found, 8 * step.base + at, step.bits) : 0;
      if (!exists || value != right) {
        const std::string bit = at % 8 == 0 ? "" : ", bit " + std::to_string(at % 8);
        std::printf(
            "difference in %s, element [%s], address 0x%" PRIx64 "%s: expected %s, found %s\n",
            step.name.c_str(), ElementOf(step, index).c_str(), step.base + at / 8, bit.c_str(),
            Shown(step, right).c_str(), exists ? Shown(step, value).c_str() : "nothing");
        differs_ = true;
        return false;
      }
      ++elements_;
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < step.axes[axis].count()) break;
        index[axis] = 0;
      }
    }
    return true;
  }

  // Prints the outcome as the last line. Returns the exit code: 0 if everything is as expected.
  int Conclude() const {
    if (differs_ || elements_ == 0) {
      std::printf("FAIL\n");
      return 1;
    }
    std::printf("PASS: %" PRIu64 " elements of %" PRIu64
                " tensors are as the functional level computes them\n",
                elements_, tensors_);
    return 0;
  }

 private:
  [[noreturn]] void Wrong(const std::string& line) const {
    Fail(folder_ + "/steps.txt: not a step: " + line);
  }

  SampleStep StepOf(const std::string& line) const {
    std::istringstream in(line);
    SampleStep step;
    std::string word;
    in >> word;
    if (word == "write") {
      if (!(in >> step.offset >> step.bytes >> step.base)) Wrong(line);
    } else if (word == "set") {
      step.kind = SampleStep::Kind::kSet;
      if (!(in >> step.address >> step.value)) Wrong(line);
    } else if (word == "place") {
      step.kind = SampleStep::Kind::kPlace;
      if (!(in >> step.address >> step.base)) Wrong(line);
    } else if (word == "run") {
      step.kind = SampleStep::Kind::kRun;
      for (uint64_t number = 0; in >> number;) step.words.push_back(number);
    } else if (word == "expect") {
      step.kind = SampleStep::Kind::kExpect;
      if (!(in >> step.stream >> step.offset >> step.base >> step.bits >> step.shown >> step.name))
        Wrong(line);
      if (step.bits < 1 || step.bits > 64) Wrong(line);
      while (in >> word) step.axes.push_back(AxisOf(word, line));
    } else {
      Wrong(line);
    }
    return step;
  }

  SampleStep::Axis AxisOf(const std::string& word, const std::string& line) const {
    SampleStep::Axis axis;
    size_t at = word.find(':');
    axis.name = word.substr(0, at);
    while (at != std::string::npos) {
      char* end = nullptr;
      const uint64_t count = std::strtoull(word.c_str() + at + 1, &end, 10);
      if (*end != '*') Wrong(line);
      const uint64_t stride = std::strtoull(end + 1, nullptr, 10);
      axis.digits.emplace_back(count, stride);
      at = word.find(':', at + 1);
    }
    if (axis.digits.empty()) Wrong(line);
    return axis;
  }

  const std::vector<uint8_t>& FileOf(const std::string& kind, uint64_t number) {
    const std::string name = folder_ + "/" + kind + std::to_string(number) + ".bin";
    const auto known = files_.find(name);
    return known != files_.end() ? known->second : files_[name] = ReadBytes(name);
  }

  // Returns the distance of an element from the first one, in bits.
  static uint64_t PositionOf(const SampleStep& step, const std::vector<uint64_t>& index) {
    uint64_t position = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      uint64_t rest = index[axis];
      for (const auto& [count, stride] : step.axes[axis].digits) {
        position += rest % count * stride;
        rest /= count;
      }
    }
    return position;
  }
  static uint64_t BitsAt(const std::vector<uint8_t>& bytes, uint64_t at, unsigned bits) {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < bits; ++bit, ++at)
      value |= uint64_t{static_cast<unsigned>(bytes[at / 8] >> (at % 8) & 1)} << bit;
    return value;
  }
  static std::string ElementOf(const SampleStep& step, const std::vector<uint64_t>& index) {
    std::string text;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      if (axis > 0) text += ", ";
      if (!step.axes[axis].name.empty()) text += step.axes[axis].name + " ";
      text += std::to_string(index[axis]);
    }
    return text;
  }
  static std::string Shown(const SampleStep& step, uint64_t value) {
    const uint64_t sign = uint64_t{1} << (step.bits - 1);
    if (step.shown == 's') return std::to_string(static_cast<int64_t>((value ^ sign) - sign));
    if (step.shown == 'u') return std::to_string(value);
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
  }

  std::string folder_;
  std::vector<SampleStep> steps_;
  std::map<std::string, std::vector<uint8_t>> files_;
  uint64_t elements_ = 0, tensors_ = 0;
  bool split_ = false, differs_ = false;
};

}  // namespace kiln::testbench

#endif  // KILN_RTL_TESTBENCH_KILN_SIMULATE_SAMPLE_H_
