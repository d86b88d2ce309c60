// Writes the steps and the bytes of samples.

#include "kiln/hardware/sample_run.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

void AppendTo(std::vector<std::string>* files, size_t number, std::span<const uint8_t> bytes) {
  if (files->size() <= number) files->resize(number + 1);
  (*files)[number].append(bytes.begin(), bytes.end());
}

size_t SizeOf(const std::vector<std::string>& files, size_t number) {
  return number < files.size() ? files[number].size() : 0;
}

}  // namespace

int64_t PlacedAxis::count() const {
  int64_t product = 1;
  for (const Digit& digit : digits) product *= digit.count;
  return product;
}

int64_t PlacedTensor::bytes() const {
  int64_t last = bits;
  for (const PlacedAxis& axis : axes) {
    for (const PlacedAxis::Digit& digit : axis.digits) {
      KILN_CHECK(digit.count >= 0 && digit.stride_bits >= 0);
      if (digit.count == 0) return 0;
      last += (digit.count - 1) * digit.stride_bits;
    }
  }
  return (last + 7) / 8;
}

std::vector<PlacedAxis> AxesOf(std::span<const int64_t> shape,
                               std::span<const int64_t> stride_bits) {
  KILN_CHECK(shape.size() == stride_bits.size());
  std::vector<PlacedAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back({.name = "", .digits = {{shape[i], stride_bits[i]}}});
  return axes;
}

std::string SampleName(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+-";
  // Both ends are kept, because names of layers often differ at the end.
  constexpr size_t kMost = 80, kBegin = 39, kEnd = 38;
  std::string plain(name);
  if (name.size() > kMost) {
    plain = fmt::format("{}...{}", name.substr(0, kBegin), name.substr(name.size() - kEnd));
  }
  for (char& c : plain) {
    if (kPlain.find(c) == std::string_view::npos) c = '_';
  }
  return plain.empty() ? "_" : plain;
}

void SampleRun::Write(uint64_t address, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  steps_ += fmt::format("write {} {} {}\n", SizeOf(inputs_, 0), bytes.size(), address);
  list_.push_back({.address = address, .offset = SizeOf(inputs_, 0), .bytes = bytes.size()});
  AppendTo(&inputs_, 0, bytes);
}

void SampleRun::Send(size_t stream, std::span<const uint8_t> bytes) {
  AppendTo(&inputs_, stream, bytes);
}

void SampleRun::Set(uint32_t address, uint32_t value) {
  steps_ += fmt::format("set {} {}\n", address, value);
  list_.push_back({.kind = Step::Kind::kSet, .address = address, .value = value});
}

void SampleRun::Place(uint32_t address, uint64_t place) {
  steps_ += fmt::format("place {} {}\n", address, place);
  list_.push_back({.kind = Step::Kind::kPlace, .address = address, .place = place});
}

void SampleRun::Run(std::span<const uint64_t> words) {
  steps_ += fmt::format("run {}\n", fmt::join(words, " "));
  list_.push_back({.kind = Step::Kind::kRun, .words = {words.begin(), words.end()}});
}

void SampleRun::Expect(const PlacedTensor& tensor, std::span<const uint8_t> bytes, size_t stream) {
  const int64_t size = tensor.bytes();
  KILN_CHECK(size <= std::ssize(bytes));
  if (size == 0) return;
  list_.push_back({.kind = Step::Kind::kExpect,
                   .name = SampleName(tensor.name),
                   .address = tensor.base,
                   .offset = SizeOf(expected_, stream),
                   .bytes = static_cast<size_t>(size),
                   .tensor = tensor,
                   .stream = stream});
  steps_ += fmt::format("expect {} {} {} {} {} {}", stream, SizeOf(expected_, stream), tensor.base,
                        tensor.bits,
                        !tensor.is_number  ? 'x'
                        : tensor.is_signed ? 's'
                                           : 'u',
                        SampleName(tensor.name));
  for (const PlacedAxis& axis : tensor.axes) {
    steps_ += fmt::format(" {}", axis.name);
    for (const PlacedAxis::Digit& digit : axis.digits)
      steps_ += fmt::format(":{}*{}", digit.count, digit.stride_bits);
  }
  steps_ += '\n';
  AppendTo(&expected_, stream, bytes.first(static_cast<size_t>(size)));
}

size_t SampleRun::bytes() const {
  size_t sum = 0;
  for (const auto* files : {&inputs_, &expected_}) {
    for (const std::string& file : *files) sum += file.size();
  }
  return sum;
}

std::vector<std::pair<std::string, std::string>> SampleRun::Files() const {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(fmt::format("{}/steps.txt", kSampleFolder),
                     "# The steps of `make sim` (testbench/kiln_simulate_sample.h).\n" + steps_);
  for (size_t i = 0; i < inputs_.size(); ++i)
    files.emplace_back(fmt::format("{}/input{}.bin", kSampleFolder, i), inputs_[i]);
  for (size_t i = 0; i < expected_.size(); ++i)
    files.emplace_back(fmt::format("{}/expected{}.bin", kSampleFolder, i), expected_[i]);
  return files;
}

}  // namespace kiln::hardware
