/* Stands in for nvdaControllerClient.dll: keeps what it was asked, in words, and does what the text says.
   x86_64-w64-mingw32-gcc -shared -O2 -s -o stub.dll stub.c */
#include <windows.h>
#include <wchar.h>

#define EXPORTED __declspec(dllexport)
typedef unsigned long(WINAPI *callback)(const wchar_t *mark);

static wchar_t kept[65536];
static callback on_mark;
static HANDLE silenced;
static CRITICAL_SECTION lock;

BOOL WINAPI DllMain(HINSTANCE dll, DWORD reason, LPVOID reserved) {
    if (reason == DLL_PROCESS_ATTACH) { InitializeCriticalSection(&lock); silenced = CreateEventW(NULL, FALSE, FALSE, NULL); }
    return TRUE;
}

static void keep(const wchar_t *what, const wchar_t *text) {
    EnterCriticalSection(&lock);
    if (wcslen(kept) + wcslen(what) + wcslen(text) + 3 < 65536) { wcscat(kept, what); wcscat(kept, text); wcscat(kept, L"\n"); }
    LeaveCriticalSection(&lock);
}

EXPORTED const wchar_t *stub_kept(void) { return kept; }
EXPORTED unsigned long WINAPI stub_forget(void) { kept[0] = 0; return 0; }

EXPORTED unsigned long WINAPI nvdaController_testIfRunning(void) { return 0; }
EXPORTED unsigned long WINAPI nvdaController_brailleMessage(const wchar_t *text) { keep(L"braille ", text); return 0; }
EXPORTED unsigned long WINAPI nvdaController_cancelSpeech(void) { keep(L"cancel", L""); SetEvent(silenced); return 0; }
EXPORTED unsigned long WINAPI nvdaController_setOnSsmlMarkReachedCallback(callback f) { on_mark = f; return 0; }

EXPORTED unsigned long WINAPI nvdaController_speakSsml(const wchar_t *ssml, int symbols, int priority, unsigned char async) {
    const wchar_t *at = ssml;
    wchar_t head[64];
    swprintf(head, 64, L"speak %d %d %d ", symbols, priority, async);
    keep(head, ssml);
    ResetEvent(silenced);
    if (wcsstr(ssml, L"ended")) return 1722;                      /* RPC_S_SERVER_UNAVAILABLE */
    if (wcsstr(ssml, L"old version")) return 1717;                /* RPC_S_UNKNOWN_IF */
    if (wcsstr(ssml, L"silence key")) return 0;                   /* cut: the mark behind it is not reached */
    if (wcsstr(ssml, L"going on")) { WaitForSingleObject(silenced, 20000); return 0; }
    if (wcsstr(ssml, L"deaf")) { Sleep(3000); return 0; }
    while ((at = wcsstr(at, L"<mark name=\"")) != NULL) {
        wchar_t name[64];
        int n = 0;
        for (at += 12; *at && *at != L'"' && n < 63; at++) name[n++] = *at;
        name[n] = 0;
        if (on_mark) on_mark(name);
    }
    return 0;
}
