// Tests of the name that a misspelt word probably means.
#include "kiln/support/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kiln {
namespace {

TEST(EditDistance, CountsASwapOnce) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("name", ""), 4u);
  EXPECT_EQ(EditDistance("name", "game"), 1u);
  EXPECT_EQ(EditDistance("nmae", "name"), 1u);
  EXPECT_EQ(EditDistance("ca", "abc"), 3u);  // the swapped letters would be edited twice
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(NearestName, NeedsTheFewestChanges) {
  const std::vector<std::string> names = {"run", "compile", "verify", "list"};
  for (const auto& [word, name] : {std::pair("runn", "run"),
                                   {"rnu", "run"},
                                   {"compil", "compile"},
                                   {"verfiy", "verify"},
                                   {"cmopiel", "compile"},
                                   {"ist", "list"},
                                   {"frobnicate", ""},
                                   {"sun", "run"},
                                   {"", ""},
                                   {"a", ""}}) {
    EXPECT_EQ(NearestName(word, names), name) << word;
  }
}

// A word of 9 letters may need 3 changes, in length as in letters.
TEST(NearestName, LengthsMayDifferByAThirdOfTheWord) {
  const std::string word(9, 'a');
  EXPECT_EQ(NearestName(word, std::vector{std::string(12, 'a')}), std::string(12, 'a'));
  EXPECT_EQ(NearestName(word, std::vector{std::string(13, 'a')}), "");
  EXPECT_EQ(NearestName(word, std::vector{std::string(6, 'a')}), std::string(6, 'a'));
  EXPECT_EQ(NearestName(word, std::vector{std::string(5, 'a')}), "");
}

// Names come from files, too: a name of any length takes no time, and a long word has no neighbour.
TEST(NearestName, LongNamesAndWordsAreNeverNear) {
  const std::vector<std::string> names = {std::string(8'000'000, 'a'), "aaaa"};
  EXPECT_EQ(NearestName("aaaaa", names), "aaaa");
  EXPECT_EQ(NearestName(std::string(100, 'a'), std::vector{std::string(101, 'a')}),
            std::string(101, 'a'));
  EXPECT_EQ(NearestName(std::string(101, 'a'), std::vector{std::string(101, 'a')}), "");
}

}  // namespace
}  // namespace kiln
