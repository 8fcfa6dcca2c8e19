#include "federation/client_names.h"

#include <sstream>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/certificates.h"

namespace polykern {
namespace {

void AddName(const std::string& name, const std::string& where, std::vector<std::string>& names) {
  if (!IsClientName(name)) {
    throw Error(where + ": " + Quoted(name) + " is not a client's name; give one like station-7");
  }
  names.push_back(name);
}

}  // namespace

std::vector<std::string> ReadClientNames(const std::vector<std::string>& texts,
                                         const std::string& what) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    if (!text.starts_with('@')) {
      AddName(text, what, names);
      continue;
    }
    const std::string path = text.substr(1);
    std::istringstream lines(ReadWholeFile(path));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty() && !line.starts_with('#')) AddName(line, path, names);
    }
  }
  return names;
}

}  // namespace polykern
