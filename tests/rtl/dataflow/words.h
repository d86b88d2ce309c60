// Words of a dataflow machine in C++: codes, their bits, files of constants, and a channel.
#ifndef KILN_TESTS_RTL_DATAFLOW_WORDS_H_
#define KILN_TESTS_RTL_DATAFLOW_WORDS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::rtl {

// The codes of a word, lowest lane first.
using Word = std::vector<int64_t>;

// Returns the codes' bits, the first code lowest, as bytes.
inline std::vector<uint8_t> Pack(const Word& codes, int bits) {
  std::vector<uint8_t> bytes((codes.size() * static_cast<size_t>(bits) + 7) / 8);
  size_t at = 0;
  for (const int64_t code : codes) {
    for (int i = 0; i < bits; ++i, ++at) {
      if ((static_cast<uint64_t>(code) >> std::min(i, 63) & 1) != 0) {
        bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | 1u << (at % 8));
      }
    }
  }
  return bytes;
}

inline int64_t LeastCode(int bits, bool is_signed) {
  return is_signed ? -(int64_t{1} << (bits - 1)) : 0;
}
inline int64_t GreatestCode(int bits, bool is_signed) {
  return (int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
}

// Returns a random code; every fourth is the least or the greatest one.
inline int64_t RandomCode(Random& random, int bits, bool is_signed) {
  const int64_t least = LeastCode(bits, is_signed), greatest = GreatestCode(bits, is_signed);
  if (random.Below(4) == 0) {
    return random.Below(2) == 0 ? least : greatest;
  }
  return random.Between(least, greatest);
}

inline Word RandomWord(Random& random, size_t lanes, int bits, bool is_signed) {
  Word word(lanes);
  for (int64_t& code : word) {
    code = RandomCode(random, bits, is_signed);
  }
  return word;
}

// Writes words for $readmemh.
inline void WriteHex(const std::filesystem::path& file,
                     const std::vector<std::vector<uint8_t>>& words) {
  std::ofstream out(file);
  for (const std::vector<uint8_t>& word : words) {
    for (size_t i = word.size(); i-- > 0;) {
      out << "0123456789abcdef"[word[i] >> 4] << "0123456789abcdef"[word[i] & 15];
    }
    out << '\n';
  }
}

// A folder for the files of constants, which is the working directory while the object lives: the
// modules open their files relative to it.
class ConstantsFolder {
 public:
  ConstantsFolder()
      : before_(std::filesystem::current_path()),
        folder_(std::filesystem::temp_directory_path() /
                ("kiln-dataflow-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ConstantsFolder(const ConstantsFolder&) = delete;
  ConstantsFolder& operator=(const ConstantsFolder&) = delete;
  ~ConstantsFolder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path before_, folder_;
};

// A channel (docs/dataflow-machine.md, "Words and channels"). Valid() and Room() are of the start
// of the cycle; what happens in the cycle takes effect with EndCycle().
class ChannelModel {
 public:
  ChannelModel(size_t depth, size_t reserve) : depth_(depth), reserve_(reserve), free_(depth) {}
  bool Valid() const { return !stored_.empty(); }
  const Word& Front() const { return stored_.front(); }
  bool Room() const { return free_ >= reserve_; }
  size_t Level() const { return depth_ - free_; }
  size_t Stored() const { return stored_.size(); }

  void Reserve() { taken_ = reserve_; }
  void Push(Word word) { pushed_.push_back(std::move(word)); }
  void Pop() { popped_ = true; }
  void EndCycle() {
    EXPECT_LE(taken_, free_);
    free_ = free_ - taken_ + (popped_ ? 1 : 0);
    if (popped_) {
      ASSERT_FALSE(stored_.empty());
      stored_.pop_front();
    }
    for (Word& word : pushed_) {
      stored_.push_back(std::move(word));
    }
    EXPECT_LE(stored_.size(), Level());
    pushed_.clear();
    taken_ = 0;
    popped_ = false;
  }

 private:
  size_t depth_, reserve_, free_;
  std::deque<Word> stored_;
  std::vector<Word> pushed_;  // at most one per cycle
  size_t taken_ = 0;
  bool popped_ = false;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_DATAFLOW_WORDS_H_
