/* Preloaded into the program: keeps, of each file under SYNCED_ROOT, what was in it when it was last synced.
   SYNCED_KEPT gets a copy by inode and a log: `F inode path` for a synced file, `D path` and `E inode name` for a
   synced folder and its entries. What stands in neither would not have outlived a power cut. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void copy(int from, const char *to) {
    char part[4200], buffer[65536];
    snprintf(part, sizeof part, "%s.part", to);
    int out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t at = 0;
    ssize_t got;
    while (out >= 0 && (got = pread(from, buffer, sizeof buffer, at)) > 0 && write(out, buffer, got) == got) at += got;
    close(out);
    rename(part, to);
}

static void keep(int handle) {
    const char *root = getenv("SYNCED_ROOT"), *kept = getenv("SYNCED_KEPT");
    char link[64], path[4096], name[4160];
    struct stat about;
    if (!root || !kept) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || fstat(handle, &about)) return;
    path[length] = 0;
    if (strncmp(path, root, strlen(root))) return;
    pthread_mutex_lock(&lock);
    snprintf(name, sizeof name, "%s/log", kept);
    if (S_ISREG(about.st_mode)) {
        char target[4160];
        snprintf(target, sizeof target, "%s/%lu", kept, (unsigned long)about.st_ino);
        if ((fcntl(handle, F_GETFL) & O_ACCMODE) == O_WRONLY) {
            int readable = open(link, O_RDONLY);
            copy(readable, target);
            close(readable);
        } else {
            /* SQLite's locks end as soon as any handle of the file is closed in this process. */
            copy(handle, target);
        }
    }
    FILE *log = fopen(name, "a");
    if (log && S_ISREG(about.st_mode)) fprintf(log, "F %lu %s\n", (unsigned long)about.st_ino, path);
    if (log && S_ISDIR(about.st_mode)) {
        fprintf(log, "D %s\n", path);
        DIR *folder = opendir(path);
        struct dirent *entry;
        while (folder && (entry = readdir(folder)))
            if (entry->d_type == DT_REG) fprintf(log, "E %lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
        if (folder) closedir(folder);
    }
    if (log) fclose(log);
    pthread_mutex_unlock(&lock);
}

int fsync(int handle) {
    keep(handle);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(handle);
}

int fdatasync(int handle) {
    keep(handle);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(handle);
}
