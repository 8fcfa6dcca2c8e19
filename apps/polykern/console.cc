#include "console.h"

#include <iostream>

#include <sys/resource.h>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/io/files.h"

namespace polykern {

void LeaveNoCoreFiles() {
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
}

sigset_t BlockEndings() {
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  sigaddset(&endings, SIGINT);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);
  return endings;
}

void WarnOfOpenKeys(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (const std::string open = ReadableByOthers(path); !open.empty()) PrintNotices({open});
  }
}

void PrintNotices(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) {
    std::cerr << "polykern: note: " << Printable(Error(notice).Spelled(ShellSpelling)) << '\n';
  }
}

}  // namespace polykern
