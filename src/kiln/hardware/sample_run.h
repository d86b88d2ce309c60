// The sample of an emitted design: the bytes that `make sim` sends to the machine, and the bytes
// that the machine must answer with, tensor by tensor. rtl/testbench/kiln_simulate_sample.h reads
// the files.
#ifndef KILN_HARDWARE_SAMPLE_RUN_H_
#define KILN_HARDWARE_SAMPLE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::hardware {

// The folder of the sample in a project.
inline constexpr char kSampleFolder[] = "sample";

// An axis of a tensor in memory or in a stream. An index is a number of mixed radix: its fastest
// digit counts from 0 to `count` - 1 and moves the element by `stride_bits`, and so on.
struct PlacedAxis {
  struct Digit {
    int64_t count = 1, stride_bits = 0;
  };
  std::string name;  // letters: "thread". Empty: messages show the axes' indices in order.
  std::vector<Digit> digits;
  int64_t count() const;
};

// Where the elements of a tensor are in memory, or in a stream, whose bytes are counted from its
// first one. Elements are little-endian.
struct PlacedTensor {
  std::string name;
  uint64_t base = 0;  // byte address of element (0, ..., 0)
  int bits = 8;       // of an element: 1 to 64
  bool is_signed = true;
  bool is_number = true;  // whether messages show an element as an integer; else in hexadecimal
  std::vector<PlacedAxis> axes;  // the first axis is the slowest
  std::string format = {};       // for readers: "int8", "e4m3 with e8m0 scales of 32"
  std::string meaning = {};      // for readers: "value = 0.1 * (code + 3)"
  // The same as numbers: value = scale * (number - zero_point) of one scale, or, by channel of the
  // last axis, value = scale * number + offset. Empty: neither. Offsets may be left out.
  std::vector<double> scales = {}, offsets = {};
  int64_t zero_point = 0;  // of one scale

  // Returns the bytes from `base` to the end of the last element.
  int64_t bytes() const;
};

// Returns the axes of a tensor with these shape and strides, in bits.
std::vector<PlacedAxis> AxesOf(std::span<const int64_t> shape,
                               std::span<const int64_t> stride_bits);

// Returns a name with '_' in place of all characters but letters, digits and "_./:+-", and with
// "..." in its middle if it has more than 80: names of a network, for the files of a folder.
std::string SampleName(std::string_view name);

// The steps of a sample, in order. A machine with memory has the steps Write, Run and Expect. A
// machine with streams has all of a stream's bytes in one Write, and an Expect for each tensor.
class SampleRun {
 public:
  // Writes bytes to the memory at `address`.
  void Write(uint64_t address, std::span<const uint8_t> bytes);
  // Appends bytes to stream in number `stream`.
  void Send(size_t stream, std::span<const uint8_t> bytes);
  // Says that the beats of the stream out belong to several streams: the last byte of a beat is the
  // number of its stream. The streams of Expect have whole beats, that byte included.
  void Split() { steps_ += "split\n"; }
  // Writes a register of the machine.
  void Set(uint32_t address, uint32_t value);
  // Writes the bus address of byte `place` of the memory to a register of two words.
  void Place(uint32_t address, uint64_t place);
  // Starts the machine; the family's testbench defines the words.
  void Run(std::span<const uint64_t> words);
  // Compares the tensor with memory, or with stream out number `stream`. `bytes` begins with the
  // byte at tensor.base and has at least tensor.bytes() bytes.
  void Expect(const PlacedTensor& tensor, std::span<const uint8_t> bytes, size_t stream = 0);

  // A step: bytes to write to memory, a value or the address of a place in memory to write to a
  // register, words to run with, or bytes to expect in memory or in a stream.
  struct Step {
    enum class Kind { kWrite, kSet, kPlace, kRun, kExpect } kind = Kind::kWrite;
    std::string name = {};         // of the expected tensor
    uint64_t address = 0;          // in memory, or of the register
    uint32_t value = 0;            // of the register
    uint64_t place = 0;            // whose address the register takes
    size_t offset = 0, bytes = 0;  // in the file input0.bin or expectedN.bin
    std::vector<uint64_t> words = {};
    PlacedTensor tensor = {};  // that is expected
    size_t stream = 0;         // N
  };
  const std::vector<Step>& steps() const { return list_; }
  // Return the bytes of the files inputN.bin and expectedN.bin; none if there is no such file.
  std::string_view InputOf(size_t stream) const { return FileOf(inputs_, stream); }
  std::string_view ExpectedOf(size_t stream) const { return FileOf(expected_, stream); }

  bool empty() const { return steps_.empty(); }
  // Returns the bytes of all files so far.
  size_t bytes() const;
  // Returns the files with their names below the project's folder: sample/steps.txt,
  // sample/inputN.bin and sample/expectedN.bin.
  std::vector<std::pair<std::string, std::string>> Files() const;

 private:
  static std::string_view FileOf(const std::vector<std::string>& files, size_t number) {
    return number < files.size() ? std::string_view(files[number]) : std::string_view();
  }

  std::string steps_;
  std::vector<Step> list_;
  std::vector<std::string> inputs_, expected_;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_SAMPLE_RUN_H_
