package secrets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/secrets"
)

// The keys are made up, and put together here so that no scanner takes this file for a leak.
var (
	mixed = strings.Repeat("aB3dE7gH", 16)
	hex   = strings.Repeat("0123456789abcdef", 8)
	dash  = "-----"
	pem   = func(label string) string {
		return dash + "BEGIN " + label + dash + "\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n" + dash + "END " + label + dash
	}
)

// SEC-012, T5: what must be found, alone and wherever it stands in a text.
var known = map[string][]string{
	"private key": {
		pem("PRIVATE KEY"), pem("RSA PRIVATE KEY"), pem("EC PRIVATE KEY"), pem("OPENSSH PRIVATE KEY"), pem("ENCRYPTED PRIVATE KEY"),
		strings.ReplaceAll(pem("PRIVATE KEY"), "\n", `\n`), strings.ReplaceAll(pem("PRIVATE KEY"), "\n", " "),
		dash + "BEGIN RSA PRIVATE KEY" + dash + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + mixed,
		dash + "BEGIN PGP PRIVATE KEY BLOCK" + dash + "\nVersion: GnuPG v2\n\nlQOYBFyQ" + mixed,
		pem("CERTIFICATE") + "\n" + pem("PRIVATE KEY"),
	},
	"API key": {
		"sk" + "-" + mixed[:48], "sk" + "-proj-" + mixed[:60], "sk" + "-ant-api03-" + mixed[:40] + "_-" + mixed[:40], "sk" + "-" + hex[:32], "sk" + "-or-v1-" + hex[:64],
		"gsk" + "_" + mixed[:52], "shpat" + "_" + hex[:32], "dapi" + hex[:32], "lin" + "_api_" + mixed[:40], "glsa" + "_" + mixed[:32] + "_" + hex[:8], "PMAK" + "-" + hex[:24] + "-" + hex[:34], "tskey" + "-auth-k123456CNTRL-" + mixed[:32], "whsec" + "_" + mixed[:32], "r8" + "_" + mixed[:37], "sq0csp" + "-" + mixed[:43], "ntn" + "_" + mixed[:46],
	},
	"Stripe key":   {"sk" + "_live_" + mixed[:24], "rk" + "_live_" + mixed[:24], "sk" + "_test_" + mixed[:24]},
	"GitHub token": {"ghp" + "_" + mixed[:36], "gho" + "_" + mixed[:36], "ghs" + "_" + mixed[:36], "ghu" + "_" + mixed[:36], "ghr" + "_" + mixed[:76], "github" + "_pat_" + mixed[:22] + "_" + mixed[:59]},
	"GitLab token": {"glpat" + "-" + mixed[:20]},
	"AWS key": {"AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A", "AKIA" + "\u200bIOSFODNN7EXAMPLE", "ＡＫＩＡ" + "IOSFODNN7EXAMPLE",
		"aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", `"SecretAccessKey": "` + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" + `"`, "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "export AWS_SECRET_KEY='" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" + "'", "The secret access key is " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
	"Slack token":        {"xoxb" + "-123456789012-1234567890123-" + mixed[:24], "xoxp" + "-1-" + mixed[:64], "xoxe" + ".xoxp" + "-1-" + mixed[:64], "xapp" + "-1-A0123456789-1234567890123-" + hex[:64], "https://hooks.slack.com/services/T01234567/B01234567/" + mixed[:24], "xoxd" + "-" + mixed[:60]},
	"Google key":         {"AIza" + mixed[:35], "AIza" + "Sy" + mixed[:16] + "-_" + mixed[:15], "GOCSPX" + "-" + mixed[:28], "ya29" + ".a0" + mixed[:60]},
	"Hugging Face token": {"hf" + "_" + strings.Repeat("aBcDeFgHiJ", 4)[:34]},
	"npm token":          {"npm" + "_" + mixed[:36]},
	"web token":          {"eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + mixed[:43]},
	"password":           {"PASSWORD=hunter2", "DB_PASSWORD='correct-horse'", "export PGPASSWORD=1234", "mysql -psecretpw123", "mysqldump -u root -pS3cret shop", "machine example.org login ada password abc123", "docker login -u ada -p hunter2x9", "redis-cli -h cache -a hunter2x9", "sshpass -p hunter2 ssh ada@host", "curl -u ada:hunter2 https://example.org", "curl -s --user ada:pw-of-ada https://example.org"},
	"password in a URL":  {"https://ada:hunter2@example.org/", "postgres://admin:s3cr%21t@db.example:5432/x?sslmode=require", "redis://:p4ss@10.0.0.1", "ftp://u:p@a.b", "https://ada:a@b@example.org", "AMQPS://svc:correct-horse@mq", "postgres://app:Hunter$Two@db.example/x", "postgres://app:$ecretP4ss@db", "https://u:pa[ss]word@h", "postgres://app:per%Cent@db"},
	"credential":         {"Authorization: Bearer " + hex[:32], `{"password": "hunter2hunter2"}`, `"db_password":"c0rrect-horse"`, `'api_key' : 'a1b2c3d4'`, "X-API-Key: " + hex[:32], `"x-api-key": "` + mixed[:20] + `"`, "authorization: basic dXNlcjpwYXNzd29yZA==", `"Authorization": "Bearer ` + mixed[:24] + `"`, "-H 'Authorization: Token " + hex[:40] + "'", "Bearer " + mixed[:40], "bearer " + hex[:32], "API_TOKEN=abcdef123", "CLIENT_SECRET=s3cr3t-value", "password=hunter2", "password: hunter2hunter2", "api_key: " + hex[:32], "token = 'abc123def456'", "X-Auth-Token: " + hex[:20], "<db:password>hunter2x9</db:password>", "Set-Cookie: theme=dark; sid=" + hex[:32] + "; HttpOnly", "deploy --password hunter2", "deploy --api-key=abc123def"},
	"Azure key":          {"ACCOUNTKEY=" + mixed[:86] + "==", "AccountKey=" + mixed[:86] + "==", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=" + mixed[:43] + "=", "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=" + mixed[:40] + "%2F%3D", "a1B8Q~" + mixed[:34]},
	"Telegram token":     {"123456789:" + "AA" + mixed[:33], "123456:" + "ABC-DEF1234ghIkl-zyx57W2v1u123ew11", "https://api.telegram.org/bot123456789:" + "AA" + mixed[:33] + "/getMe"},
	"Discord token":      {"M" + mixed[:23] + ".Ab12cD." + mixed[:27], "N" + mixed[:25] + "." + mixed[:6] + "." + mixed[:38], "https://discord.com/api/webhooks/123456789012345678/" + mixed[:68]},
	"SendGrid key":       {"SG" + "." + mixed[:22] + "." + mixed[:43]},
	"DigitalOcean token": {"dop" + "_v1_" + hex[:64]},
	"PyPI token":         {"pypi" + "-AgEIcHlwaS5vcmc" + mixed[:64]},
	"Docker token":       {"dckr" + "_pat_" + mixed[:27]},
	"Vault token":        {"hvs" + "." + mixed[:40]},
	"card number": {
		"٤١١١ ١١١١ ١١١١ ١١١١", "４１１１１１１１１１１１１１１１", "４１１１－１１１１－１１１１－１１１１", "4111\u200b1111\u00ad1111\u20601111", "4111\u20101111\u20101111\u20101111", "४१११ ११११ ११११ ११११", "4111\u30001111\u30001111\u30001111",
		"4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "4111\u00a01111\u00a01111\u00a01111", "4111\u28001111\u28001111\u28001111", "4\u0332111 1111 1111 1\u0332111", "4222222222222", "4000000000000000006",
		"5555555555554444", "5105 1051 0510 5100", "2223003122003222", "378282246310005", "3782 822463 10005", "30569309025904", "3056 930902 5904",
		"6011111111111117", "3530111333300000", "6200000000000005", "5060 6666 6666 6666 666",
	},
}

// What must not be taken for one: text of many languages with numbers and words that resemble.
var innocents = []string{
	"", "-", "sk-", "sk", "eyJ", "AKIA", dash, dash + "BEGIN",
	"A risk-free trial on disk-1234567890123456789012, task-based, desk-top and ask-me-anything.",
	"The password is in the vault; please type your password, PIN and API key there.",
	"mask-0123456789abcdef0123456789abcdef", "risk_live_0123456789abcdef01", "the-sk-sk-SK-locale", "sk-learn-pipeline-with-many-steps-and-words", "sk-SK", "sk-1",
	"Das Passwort wurde geändert. Ihr Geheimnis bleibt geheim.", "Le mot de passe a été changé.", "La contraseña es secreta.", "Пароль изменён, ключ сохранён.",
	"パスワードを変更しました。", "密码已更改，密钥在保险箱里。", "تم تغيير كلمة المرور.", "Ọ̀rọ̀ aṣínà ti yí padà.", "पासवर्ड बदल दिया गया है।", "Mật khẩu đã được đổi.", "비밀번호가 변경되었습니다.",
	"A file that begins with " + dash + "BEGIN PRIVATE KEY" + dash + " is a private key. Keep it safe.",
	pem("CERTIFICATE"), pem("PUBLIC KEY"), pem("RSA PUBLIC KEY"),
	"Keys look like ghp_… or sk-… or AKIA… or eyJ….", "ghp_short", "ghp_" + strings.Repeat("x", 40), "AIza is how they begin", "AKIAXXXXXXXXXXXXXXXX", "ASIAPACIFICREGIONALX",
	"AKIAIOSFODNN7EXAMPLE1 is one too long", "xoxo-love-and-kisses-from-all-of-us-2026", "xoxb-this-is-a-placeholder-only-here", "hf_space", "npm_config_registry_and_all_other_settings_of_it",
	"eyJhbGciOiJIUzI1NiJ9 alone", "eyJhbGciOiJIUzI1NiJ9.notatoken.x", "eyJa.eyJb.c",
	"sk-aB3dE7gHaB3dE7gH", "sk-version1-of-the-pipeline-in-step2", "sk-12345678901234567890123", "ghp_" + mixed[:30], "AKIAiosfodnn7example", "AIza" + mixed[:36], "AIza" + strings.Repeat("a1b2c", 7),
	dash + "BEGIN a line of prose in which a PRIVATE KEY is no more than named" + dash + mixed, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.short",
	"eyJa.eyJ" + mixed[:20] + "." + mixed[:43], "eyJ" + mixed[:20] + ".eyJb." + mixed[:43], "eyJ" + mixed[:20] + "." + mixed[:20] + "." + mixed[:43],
	// Numbers.
	"Order 1234567890123456 has left.", "Bestellung 4111111111111112", "Invoice #4111111111111111", "Commande n° 9876543210987654", "Tracking 1Z9999W99999999999 and 9400 1000 0000 0000 0000 00",
	"Call +44 20 7946 0958 or +1 (415) 555-2671 or 0803 123 4567.", "+4111111111111111", "Tel. 030 1234567-890", "WhatsApp +234 803 123 4567", "電話 03-1234-5678",
	"IBAN DE89 3704 0044 0532 0130 00, GB82 WEST 1234 5698 7654 32, FR76 3000 6000 0112 3456 7890 189, ES91 2100 0418 4502 0005 1332", "DE89370400440532013000",
	"550e8400-e29b-41d4-a716-446655440000", "41111111-1111-1111-1111-111111111111", "evt_4111111111111111", "id4111111111111111", "4111111111111111a", "x-4111111111111111",
	"commit 9c2f1e0b7a4111111111111111d0e5f6a7b8c9d0", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "d41d8cd98f00b204e9800998ecf8427e",
	"https://example.org/4111111111111111", "https://example.org/p?id=4111111111111111&x=1", "pi is 3.1415926535897932384626", "0.4111111111111111", "4,111,111,111,111,111", "4111111111111111.5", "4111111111111111%", "$4111111111111111",
	"2026-07-01T09:30:00.000Z 1753345678901 20260701093000123", "4006381333931", "4006381330060", "3782822463100003", "3612345678901201", "files/4111111111111111", "978-3-16-148410-0", "EAN 4012345678901", "IMEI 356938035643809", "490154203237518",
	"2020 2021 2022 2023 2024", "1234 5678 9012 3456", "0000 0000 0000 0000", "4111 1111 1111 1112", "4111  1111  1111  1111", "4111 1111-1111 1111", "41 11 11 11 11 11 11 11", "1111 4111 1111 1111 1111 1111",
	"3782 8224 6310 005", "37828224631000", "300000000000000000", "5555 5555 5555 444", "411111111111111", "41111111111111111111",
	"१२३४ ५६७८ ९०१२ ३४५६", "\uff11\uff12\uff13\uff14 \uff15\uff16\uff17\uff18 \uff19\uff10\uff11\uff12 \uff13\uff14\uff15\uff16",
	// Addresses and headers without a secret.
	"https://example.org:8080/a@b", "https://ada@example.org/", "ssh://git@example.org:22/x", "https://example.org/?q=a:b@c", "http://[::1]:8080/", "mailto:ada@example.org",
	"postgres://ada:***@db.example/x", "postgres://ada:${PASSWORD}@db.example/x", "postgres://ada:<password>@db.example/x", "https://ada:@example.org", "ratio 16:9 @home", "https://ada:$PW@example.org", "https://ada:xxxx@example.org",
	"Authorization: Bearer <token>", "Authorization: Bearer YOUR_TOKEN", "Send the token as Authorization: Bearer token.", `WWW-Authenticate: Bearer realm="aaep"`, "The bearer of this letter is my friend.", "Bearer authentication-and-authorization-explained",
	"Set AWS_SECRET_ACCESS_KEY in the environment.", "aws_secret_access_key = ****************************************", "The secret access key is in the vault.", "Your access key id is shown in the console.",
	"AccountKey=<key>", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=...", "?sig=abc", "Q~ is a question", "At 12:30:45 on 2026-07-01", "urn:123456789:a-b-c", "1234567:one-two-three-four-five-six-seven-ei",
	"hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXXXXXXXXXX", "discord.com/api/webhooks/123", "NASA.gov is a site.", "Nothing.abcdef.everything", "SG.something", "hv.de is a site", "pypi-server", "xoxc-please-do-not-write-tokens-here", "ya29.short",
	"Meet at Maximilianstrasse.Munich.Germany-in-the-summer-of-love", "NetworkConfigurationManager.Tables.ServiceDiscoveryConfigurationRecord", "MyCompanyApplicationServer.config.ConnectionStringSettingsCollection",
	`{"password": "string"}`, `{"password": "${DB_PASSWORD1}"}`, `{"token": "next_page"}`, `{"max_tokens": "4096000"}`, `{"token_type": "Bearer1"}`, `{"secret": "vault.path2.name"}`, "X-API-Key: YOUR_API_KEY_GOES_HERE", "The x-api-key: header is needed.", "The password: at least ten characters.", "Reset token: 2026-11-29T10", "Token: 1234567890", "next_token = page_after_this", "<secret>none-of-yours</secret>", "Cookie: theme=dark; lang=en", "Cookies: 12 = a dozen", "the login name and password are needed", "redis-cli -a $PASSWORD", "dapi is an interface, tskey- a prefix",
	"PASSWORD=", `PASSWORD=""`, "PASSWORD=$PW", "PASSWORD=${DB_PASSWORD}", "PASSWORD=<password>", "PASSWORD=changeme", "PASSWORD=your_password", "PASSWORD=********", "DB_PASSWORD=$(cat /run/pw)", "PASSWORD_FILE=/run/secrets/db1",
	"MAX_TOKEN=4096000", "TOKEN=$TOKEN", "PWD=/srv/plans2", "connect(password=password)", "login(token=self.token2)", "password=getpass()", "secret=null", "GOOGLE_APPLICATION_CREDENTIALS=/etc/key1.json", "Use --password to set it, or --token with a token.", "docker login --password-stdin", "--max-token 4096000", "--token $TOKEN",
	"mysql -p shop", "mysql -u root -p", "mysql --protocol=tcp -P3306", "mkdir -pv src/main1", "curl -u ada https://example.org", "curl -u $USER:$PASSWORD https://example.org", "sshpass -p $PW ssh host", "curl -X POST https://example.org:8080/a1",
	"https://ada:$password@example.org", "https://ada:%s@example.org", "https://ada:{{.Password}}@example.org", "https://ada:[password]@example.org",
}

// Secret finds keys and numbers of cards in text of any language, and takes nothing innocent for
// one.
func TestSecret(t *testing.T) {
	for kind, all := range known {
		for _, s := range all {
			for _, around := range []string{"%", "Use % now.", "key=%", "key: \"%\",", "(%)", "密钥是%。", "è%\n", "Bearer %", "%, please"} {
				text := strings.Replace(around, "%", s, 1)
				if got, found := secrets.Find(text); !found || got != kind {
					t.Errorf("Find(%q) = %q, %v; want %q", text, got, found, kind)
				}
			}
		}
	}
	for _, text := range []string{"2 4111 1111 1111 1111", "4111 1111 1111 1111 12/29", "4111 1111 1111 1111 123", "4111111111111112 or 4111111111111111", "Karte 4111 1111 1111 1111 gültig bis 12 29"} {
		if got, _ := secrets.Find(text); got != "card number" {
			t.Errorf("Find(%q) = %q", text, got)
		}
	}
}

// SEC-012: words such as risk- must not trigger.
func TestSecretInnocents(t *testing.T) {
	for _, s := range innocents {
		for _, text := range []string{s, s + "\n", "a " + s + " b", s + " " + s} {
			if kind, found := secrets.Find(text); found || kind != "" {
				t.Errorf("Find(%q) = %q", text, kind)
			}
		}
	}
	if _, found := secrets.Find(strings.Join(innocents, " , ")); found {
		t.Error("the innocents together are taken for a secret")
	}
}

// INV-32: eight times the text takes about eight times as long.
func TestSecretIsLinear(t *testing.T) {
	for _, unit := range []string{"1", "4 ", "4111 ", "4111-", "a", "sk-", "sk-a ", "eyJ.", "eyJaaaaaaaaaaa.", ".", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "=4111111111111112 ", "\xff", "a:b@", "://a:", "1:", "M.", "Bearer ", "Authorization: Bearer a", "\u200b4"} {
		small, large := strings.Repeat(unit, 8000), strings.Repeat(unit, 64000)
		linear(t, fmt.Sprintf("%q", unit), func() {
			for range 8 {
				secrets.Find(small)
			}
		}, func() { secrets.Find(large) })
	}
}

// What is found is named and not repeated, and stays found when other sentences stand around it.
func FuzzSecret(f *testing.F) {
	for _, all := range known {
		for _, s := range all {
			f.Add(s)
		}
	}
	for _, s := range innocents {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		kind, found := secrets.Find(s)
		if found != (kind != "") || strings.Contains(kind, s) && len(s) > 12 {
			t.Fatalf("Find(%q) = %q, %v", s, kind, found)
		}
		// What is found stays found when other sentences stand around it.
		if again, _ := secrets.Find("So: \n" + s + "\n."); found && again == "" {
			t.Fatalf("Find(%q) = %q, but not among other text", s, kind)
		}
	})
}

// linear fails if the large work takes far longer than as much of it in small pieces. A machine
// that is busy with something else gets more tries: work that grows as a square fails all of them.
func linear(t *testing.T, what string, small, large func()) {
	t.Helper()
	took := func(work func()) time.Duration {
		start := time.Now()
		work()
		return time.Since(start)
	}
	pieces, whole := time.Duration(math.MaxInt64/10), time.Duration(math.MaxInt64)
	for range 30 {
		pieces, whole = min(pieces, took(small)), min(whole, took(large))
		if whole <= 5*pieces+20*time.Millisecond { // for a clock that ticks every 16 ms
			return
		}
	}
	t.Errorf("%s: %v in pieces, and %v as a whole", what, pieces, whole)
}
