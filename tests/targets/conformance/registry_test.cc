// The table of families: which family reads a file, and which have models of areas.
#include "kiln/targets/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kiln {
namespace {

using testing::HasSubstr;

// A file's ending names its family only at the end of the name; other files name it inside.
TEST(Registry, AnEndingIsTheEndOfAFilesName) {
  for (const char* name : {"machine.yaml", "machine.json.yaml", "a.json/machine.yaml"}) {
    EXPECT_THAT(MessageOf(ParseAccelerator("family: abacus\n", name).status()),
                HasSubstr("unknown family 'abacus'"))
        << name;
    EXPECT_THAT(MessageOf(ParseAccelerator("name: nothing\n", name).status()),
                HasSubstr("key 'family' is missing"))
        << name;
  }
}

TEST(Registry, AFamilyWithoutModelsOfAreasNamesThoseWithThem) {
  int without = 0;
  for (const std::string& name : FamilyNames()) {
    const auto models = FindAreaModels(name);
    if (models.ok()) continue;
    ++without;
    const std::string message = MessageOf(models.status());
    const size_t remedy = message.find("one of: ");
    ASSERT_NE(remedy, std::string::npos) << message;
    for (const std::string& other : FamilyNames()) {
      EXPECT_EQ(message.find(other, remedy) != std::string::npos, FindAreaModels(other).ok())
          << other << " in " << message;
    }
  }
  EXPECT_GE(without, 1);
}

}  // namespace
}  // namespace kiln
