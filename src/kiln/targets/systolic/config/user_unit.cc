// The table of user units, made from user_units.def.
#include "kiln/targets/systolic/config/user_unit.h"

#include <array>
#include <memory>

namespace kiln::systolic {

#define KILN_USER_UNIT(name, number, function) std::unique_ptr<const UserUnit> function();
#include "kiln/targets/systolic/config/user_units.def"
#undef KILN_USER_UNIT

namespace {

const std::vector<UserUnitEntry>& Entries() {
  static const auto* const entries = new std::vector<UserUnitEntry>{
#define KILN_USER_UNIT(name, number, function) {#name, number, function().release()},
#include "kiln/targets/systolic/config/user_units.def"
#undef KILN_USER_UNIT
  };
  return *entries;
}

}  // namespace

const UserUnitEntry* FindUserUnit(std::string_view name) {
  for (const UserUnitEntry& entry : Entries()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::vector<std::string_view> UserUnitNames() {
  std::vector<std::string_view> names;
  for (const UserUnitEntry& entry : Entries()) names.push_back(entry.name);
  return names;
}

}  // namespace kiln::systolic
