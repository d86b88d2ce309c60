#include "tests/targets/cgra/compile/index_text_value.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kiln::cgra {
namespace {

using Names = std::map<std::string, int64_t>;

// A recursive descent over sums of products.
class Expression {
 public:
  Expression(std::string_view text, const Names& names) : text_(text), names_(names) {}

  int64_t Value() {
    const int64_t value = Sum();
    EXPECT_TRUE(Next("")) << text_;
    return value;
  }

 private:
  // Skips blanks. Takes `token` if it follows; the empty one is the end.
  bool Next(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (token.empty()) return at_ == text_.size();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  int64_t Sum() {
    int64_t value = Product();
    for (;;) {
      if (Next("+")) {
        value += Product();
      } else if (Next("-")) {
        value -= Product();
      } else {
        return value;
      }
    }
  }
  int64_t Product() {
    int64_t value = Factor();
    for (;;) {
      if (Next("*")) {
        value *= Factor();
      } else if (Next("/")) {
        EXPECT_GE(value, 0) << text_;
        value /= Factor();
      } else if (Next("%")) {
        EXPECT_GE(value, 0) << text_;
        value %= Factor();
      } else {
        return value;
      }
    }
  }
  int64_t Factor() {
    if (Next("pick(")) {
      const int64_t index = Sum();
      EXPECT_TRUE(Next(";")) << text_;
      std::vector<int64_t> list;
      do {
        list.push_back(Sum());
      } while (Next(","));
      EXPECT_TRUE(Next(")")) << text_;
      return list.at(static_cast<size_t>(index));
    }
    Next(" ");
    std::string word;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0)
      word += text_[at_++];
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0)
      return std::stoll(word);
    const auto name = names_.find(word);
    EXPECT_NE(name, names_.end()) << "'" << word << "' in " << text_;
    return name == names_.end() ? 0 : name->second;
  }

  const std::string text_;
  const Names& names_;
  size_t at_ = 0;
};

// Returns the numbers below `count` that are tested.
std::set<int64_t> Tested(int64_t count) {
  std::set<int64_t> tested;
  const int64_t step = count <= 64 ? 1 : count / 16;
  for (int64_t i = 0; i < count; i += step) tested.insert(i);
  for (int64_t i = 0; i < 4 && i < count; ++i) tested.insert({i, count - 1 - i});
  return tested;
}

}  // namespace

int64_t ValueOfText(const IndexText& text, const std::vector<int64_t>& shape, int64_t run,
                    int64_t thread, int64_t lane) {
  Names names = {{"run", run}, {"thread", thread}, {"lane", lane}};
  for (const auto& [name, expression] : text.names) {
    EXPECT_EQ(names.count(name), 0u) << name << " twice";
    names[name] = Expression(expression, names).Value();
  }
  for (const std::string& condition : text.conditions) {
    const size_t less = condition.find(" < ");
    if (less == std::string::npos) {
      ADD_FAILURE() << condition;
      return -1;
    }
    if (Expression(condition.substr(0, less), names).Value() >=
        Expression(condition.substr(less + 3), names).Value()) {
      return -1;
    }
  }
  if (text.position.size() == 1) return Expression(text.position[0], names).Value();
  EXPECT_EQ(text.position.size(), shape.size());
  int64_t element = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t at = Expression(text.position[axis], names).Value();
    if (at < 0 || at >= shape[axis]) return -1;
    element = element * shape[axis] + at;
  }
  return element;
}

void CheckIndexTexts(const NetworkProgram& program) {
  for (const LoweredKernel& lowered : program.lowered()) {
    if (!lowered.machine.has_value()) continue;
    const MachineKernel& kernel = *lowered.machine;
    for (const Launch& launch : kernel.launches) {
      const auto check = [&](const ElementIndex& index, int buffer, bool same, int64_t first,
                             const std::string& what) {
        const Value* const value = kernel.buffers[static_cast<size_t>(buffer)].value;
        const std::vector<int64_t> shape =
            value != nullptr ? value->shape().dims() : std::vector<int64_t>();
        for (const int64_t run : Tested(launch.runs)) {
          for (const int64_t thread : Tested(launch.threads)) {
            if (thread < first) continue;
            for (int64_t lane = 0; lane < (same ? 1 : program.config().lanes); ++lane) {
              ASSERT_EQ(ValueOfText(index.text(), shape, run, thread, lane),
                        index(run, thread, lane))
                  << lowered.info.name << ", " << what << ", run " << run << ", thread " << thread
                  << ", lane " << lane;
            }
          }
        }
      };
      for (size_t i = 0; i < launch.feeds.size(); ++i) {
        const Feed& feed = launch.feeds[i];
        check(feed.at, feed.buffer, feed.same_in_lanes, 0, "input " + std::to_string(i));
      }
      for (size_t i = 0; i < launch.drains.size(); ++i) {
        const Drain& drain = launch.drains[i];
        check(drain.at, drain.buffer, false, launch.first_sent, "output " + std::to_string(i));
      }
    }
  }
}

}  // namespace kiln::cgra
